"""What can be said of a mapping before there is one: bounds and estimates.

Bounds are proofs: no mapping is below them. ``spatial_bounds`` has those of static grids and ``row_bounds`` those of
arrays of rows; the II's is in ``gridloom.mapping.mii``. Estimates are guesses that save a search: ``width_estimate``
says how many columns a graph will need, ``dataflow`` and ``heuristic`` how fast a placement on an elastic array will
run. Learned estimators live in ``gridloom.learn`` and keep the protocols that are written here.
"""
