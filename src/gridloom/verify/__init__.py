"""Legality and metrics of a mapping, recomputed from nothing but the mapping itself."""

from __future__ import annotations

from gridloom.verify.legality import legal
from gridloom.verify.stats import Stats, stats
from gridloom.verify.violation import KINDS, Violation

__all__ = ["KINDS", "Stats", "Violation", "legal", "stats"]
