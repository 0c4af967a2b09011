"""The mapper for elastic arrays (family ``rdu``): units of a pipeline on tiles that fire when their tokens are there.

There are no cycles to choose: a mapping is a tile for each unit and a static route for each flow, and how fast it runs
is what a cost model estimates or the simulator measures. :mod:`~gridloom.mappers.elastic.dataflow` is the entry,
:mod:`~gridloom.mappers.elastic.search` the annealer, :mod:`~gridloom.mappers.elastic.route` the router.
"""
