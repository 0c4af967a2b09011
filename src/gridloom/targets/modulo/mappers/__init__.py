"""Mappers for modulo-scheduled arrays (torus and its presets), whose tiles repeat a list of ops every II cycles.

``modulo`` is the negotiating mapper of this folder: :mod:`~gridloom.targets.modulo.mappers.modulo` walks over IIs,
:mod:`~gridloom.targets.modulo.mappers.search` runs starts, and the kernels place and route. ``exact`` has the CP-SAT
model, ``ramp`` the published mappers by maximum cliques, and ``schedule`` the modulo scheduler that all of them share.
"""
