"""Static grids (mesh, onehop, chess, hex): a tile runs one op for the whole loop, with an iteration in every cycle.

Values that meet at an op must have the same age: an early one waits in an operand FIFO or takes a longer route.

Reading order:

1. ``target``: what the rest of the package knows of this target.
2. ``families/mesh``: the tiles, links and crossbars of the four topologies.
3. ``mappers/anneal``: one mapper from the graph to the Mapping; ``mappers/search`` is one start of it.
4. ``bounds``: lower bounds on wirelength, latency and FIFO depth, which end a search early.
5. ``export/vpr`` and ``commands``: the same problem as files for VPR.
"""
