"""Cost models of dataflow placements: how fast a placed and routed pipeline will run.

``load``           what a cost model sees (a pipeline, a batch of decisions) and the protocol that it obeys
``bottleneck``     the busiest link or the slowest round trip; ``closed_form``: the round trip alone
``queueing``       ``bottleneck`` with waits where flows meet, compiled in ``meeting_loads``
``heuristic``      rules for each operation; ``tuned``: rules with fitted numbers; ``wirelength``: the length of routes
``tree_loads``     what multicast trees put on their links, compiled

All of them are estimates: only the simulator (``machine``) decides the period of a mapping.
"""
