"""The operations of a tensor graph: ``parameters`` of each, their ``values`` in numpy, ``costs`` in sizes and FLOPs."""
