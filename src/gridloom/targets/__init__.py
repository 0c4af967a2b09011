"""Targets: one folder for each kind of machine, with all code that serves it alone.

``grid``       static grids: a tile runs one op for the whole loop
``modulo``     modulo-scheduled arrays: a tile repeats a list of ops every II cycles
``rows``       rows of combinational ALUs over load and store ports
``streaming``  Micron's streaming engine: a row of tiles with spokes
``dataflow``   elastic grids of compute and memory units that exchange tokens

``target.py`` in each folder declares what the rest of the package knows of the target: array families, mappers, models,
commands, hooks. No target imports another, and no shared package imports a target. docs/targets has a page for each.
"""
