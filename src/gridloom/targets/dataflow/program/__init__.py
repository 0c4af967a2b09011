"""What the operations of a tensor graph mean: ``values`` computes them, ``costs`` counts their sizes and FLOPs."""
