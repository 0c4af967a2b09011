"""Cost models of dataflow placements: how fast a placed and routed pipeline will run.

``load``           what a cost model sees (a pipeline, a batch of decisions) and the protocol that it obeys
``load_kernel``    the loads of links, compiled: multicast trees, and where flows meet
``bottleneck``     the busiest link or the slowest round trip
``queueing``       ``bottleneck`` with waits where flows meet
``formulas``       the round trip alone, the length of routes, rules for each operation, rules with fitted numbers

All of them are estimates: only the simulator (``machine``) decides the period of a mapping.
"""
