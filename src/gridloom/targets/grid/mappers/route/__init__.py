"""Routing on static grids.

``pathfinder`` is what mappers call; ``pathfinder_kernel`` has the compiled search, which the joint annealer calls, too.
"""
