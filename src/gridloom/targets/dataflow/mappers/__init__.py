"""The mapper for elastic arrays (family ``rdu``): units of a pipeline on tiles that fire when their tokens are there.

There are no cycles to choose: a mapping is a tile for each unit and a static route for each flow, and how fast it runs
is what a cost model estimates or the simulator measures. :mod:`~gridloom.targets.dataflow.mappers.dataflow` is the
entry, :mod:`~gridloom.targets.dataflow.mappers.search` the annealer, :mod:`~gridloom.targets.dataflow.mappers.route`
the router.
"""
