"""Legality and metrics of a mapping, recomputed from nothing but the mapping itself.

``legal`` lists every rule that a mapping breaks and ``stats`` measures it. Both read the mapping, its graph and its
array, and share no code with mappers, simulator or configuration: a checker that shares code with a mapper shares its
bugs. Each file holds the rules about one subject, as generators of violations over a ``Subject`` (the mapping with its
names resolved); ``legality`` lists them. A new rule is a new generator in that list and a new kind in ``violation``.
"""

from __future__ import annotations

from gridloom.verify.legality import legal
from gridloom.verify.stats import Stats, stats
from gridloom.verify.violation import KINDS, Violation

__all__ = ["KINDS", "Stats", "Violation", "legal", "stats"]
