"""Partitioning: cutting a graph into parts that run one after the other, and finding where to cut.

A graph that is too large for an array is cut, each part is mapped alone, and the parts run one after the other over all
iterations, with values between them in memory. ``split`` cuts along a given assignment, ``bisect`` finds one;
``flow/partition`` searches over both and maps the parts.
"""

from __future__ import annotations

from gridloom.partition.bisection import Bisection, BisectionConfig, bisect, bisections
from gridloom.partition.split import Part, run_parts, split

__all__ = ["Bisection", "BisectionConfig", "Part", "bisect", "bisections", "run_parts", "split"]
