"""Exploration: which array for a set of kernels? Points of a space, mapped, verified, simulated and priced.

``space`` is the question as data, ``points`` turns points into jobs and rows into figures, ``search`` runs them, and
``answers`` draws conclusions: the Pareto front, what each parameter does, the best arrays. ``hardware`` prices an array
without synthesis. ``sharing``, ``buffers`` and ``merging`` search one array for several graphs instead. ``page`` and
``pictures`` show the results.
"""

from gridloom.explore.answers import array_yaml, best_arrays, explain_empty, front, sensitivity, to_dict
from gridloom.explore.points import Evaluated
from gridloom.explore.search import Exploration, Moment, best_of, explore, planned_points
from gridloom.explore.space import Space, parse_space, read_space

__all__ = [
    "Evaluated",
    "Exploration",
    "Moment",
    "Space",
    "array_yaml",
    "best_arrays",
    "best_of",
    "explain_empty",
    "explore",
    "front",
    "parse_space",
    "planned_points",
    "read_space",
    "sensitivity",
    "to_dict",
]
