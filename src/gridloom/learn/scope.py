"""What weights were trained for: the range of each number that tells graphs and arrays of the training apart.

Every file of weights has a scope, and :meth:`TrainingScope.outside` is the one place that compares a question with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TrainingScope:
    """The least and the largest value of each number, by a name in words such as ``rows`` or ``constants per row``."""

    ranges: Mapping[str, tuple[float, float]]

    @classmethod
    def of(cls, seen: Iterable[Mapping[str, float]], downwards: Collection[str] = ()) -> TrainingScope:
        """Return the scope of what was trained on; ``downwards`` are numbers of which less is never outside.

        >>> TrainingScope.of([{"rows": 4.0}, {"rows": 8.0}]).ranges
        {'rows': (4.0, 8.0)}
        """
        ranges: dict[str, tuple[float, float]] = {}
        for numbers in seen:
            for name, value in numbers.items():
                low, high = ranges.get(name, (value, value))
                ranges[name] = (min(low, value, 1.0) if name in downwards else min(low, value), max(high, value))
        return cls(ranges)

    def outside(self, asked: Mapping[str, float]) -> str:
        """Return in words what lies outside of the training; empty: nothing does. Unknown names are not compared.

        >>> TrainingScope({"rows": (4, 8)}).outside({"rows": 16, "columns": 3})
        'the weights were trained for 4 to 8 rows, found 16'
        >>> TrainingScope({"rows": (4, 8)}).outside({"rows": 5})
        ''
        """
        for name, value in asked.items():
            low, high = self.ranges.get(name, (value, value))
            # Values of 32 bits are compared with values of 64.
            slack = 1e-5 * max(1.0, abs(low), abs(high))
            if not low - slack <= value <= high + slack:
                known = f"{low:g}" if low == high else f"{low:g} to {high:g}"
                return f"the weights were trained for {known} {name}, found {value:g}"
        return ""

    def record(self) -> dict[str, list[float]]:
        """Return the scope as plain data."""
        return {name: [float(low), float(high)] for name, (low, high) in self.ranges.items()}

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> TrainingScope:
        """Return the scope of plain data."""
        return cls({name: (float(low), float(high)) for name, (low, high) in record.items()})
