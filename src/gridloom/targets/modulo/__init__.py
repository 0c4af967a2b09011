"""Modulo-scheduled arrays: a tile repeats a list of ops every II cycles and keeps values in registers.

The families are torus with the presets of the RAMP evaluation, HyCUBE, and descriptions of other groups.

Reading order:

1. ``target``: what the rest of the package knows of this target.
2. ``families/torus`` and ``families/hycube``: tiles, register files, buses and crossbars.
3. ``mappers/modulo``: scheduling, placement and routing in one search; ``mappers/search`` is one batch of starts.
4. ``mappers/ramp`` and ``mappers/exact``: the published mappers, and the model that proves an II.
5. ``estimate``, ``ii_estimate`` and ``learned``: the II that a loop is likely to reach, without mapping it.
"""
