"""What mappers of every style share: the solver front, random numbers, adjacency in CSR form, annealing schedules."""
