"""Exploration: which array for a set of kernels? Points of a space, mapped, verified, simulated and priced."""

from gridloom.explore.answers import array_yaml, best_arrays, front, sensitivity, to_dict
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
    "explore",
    "front",
    "parse_space",
    "planned_points",
    "read_space",
    "sensitivity",
    "to_dict",
]
