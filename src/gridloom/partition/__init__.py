"""Partitioning: cutting a graph into parts that run one after the other, and finding where to cut."""

from __future__ import annotations

from gridloom.partition.bisection import Bisection, BisectionConfig, bisect, bisections
from gridloom.partition.split import Part, run_parts, split

__all__ = ["Bisection", "BisectionConfig", "Part", "bisect", "bisections", "run_parts", "split"]
