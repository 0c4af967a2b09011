"""What mappers of every target share.

``budget``      time limit, effort, seed and workers of a search; ``settings``: its settings and their ranges
``choice``      which mapper suits an array; ``portfolio``: a race of them
``placements``  placements that a user gives; ``stores``: words of constant stores; ``symmetry``: tiles that are alike
``arrays``      array types of the kernels; ``random``: random numbers; ``annealing``: schedules
``solver``      CP-SAT under a budget; ``sat``: a SAT solver; ``compiling``: progress of numba; ``devices``: GPUs

Nothing here names a target or a style of array. ``random`` and ``annealing`` hold compiled functions and import numba;
the others do not.
"""
