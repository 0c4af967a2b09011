"""Whether the graph of a loop computes what its source computes: the source is run beside it, on random data.

``comparison`` says what a comparison is, ``c_loops`` runs the IR of C and MLIR functions and the graph wherever the
loop begins, ``arguments`` makes up data for them, and ``python_kernels`` calls the kernel itself.
"""
