"""What mappers of every style share: the solver front, random numbers, adjacency in CSR form, annealing schedules.

Nothing here knows a style of array. ``random`` and ``annealing`` hold compiled functions and import numba;
``arrays``, ``csr``, ``solver`` and ``compiling`` do not.
"""
