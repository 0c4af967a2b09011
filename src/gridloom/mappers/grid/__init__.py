"""Static grids (mesh, onehop, hex, chess): one op on each tile, a new iteration every cycle."""
