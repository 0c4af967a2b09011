"""Static grids (mesh, onehop, hex, chess): one op on each tile, a new iteration every cycle.

Every mapper of this folder goes through the same steps: ``problem`` flattens graph and grid, ``screening`` counts what
cannot fit, a placer (``place/``) finds tiles, ``route/`` finds links, ``balance/`` finds issue cycles and FIFO depths,
``mapping`` turns the arrays back into names. ``search`` is one start through these steps, ``batches`` runs many of
them.
"""
