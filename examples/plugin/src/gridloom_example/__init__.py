"""A plug-in for gridloom: the mapper ``greedy``, the arrays ``king``, the reader ``ops`` and a few small things."""
