"""When a run did what: the timeline of a function as Perfetto's JSON or as a VCD file.

One cycle is one microsecond of Perfetto's clock and one nanosecond of the VCD's. The host waits while the array runs,
so that the two never overlap.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gridloom.errors import OptionError

_ENDINGS = (".json", ".vcd")


@dataclass(frozen=True, slots=True)
class Event:
    """Cycles from ``start`` on that a unit (``host``, ``array`` or ``memory``) spends on something."""

    unit: str
    what: str
    start: int
    cycles: int
    #: Iterations of a run of the array.
    iterations: int = 0


class Timeline:
    """Events one after the other; the host's come from how many cycles it has spent."""

    def __init__(self, data_in: int) -> None:
        self.events: list[Event] = []
        self.now = self.spent = 0
        self.add("memory", "data in", data_in)

    def add(self, unit: str, what: str, cycles: int, iterations: int = 0) -> None:
        """What a unit does next."""
        if cycles:
            self.events.append(Event(unit, what, self.now, cycles, iterations))
            self.now += cycles

    def host(self, spent: int) -> None:
        """What the host has done since it was last asked."""
        self.add("host", "host", spent - self.spent)
        self.spent = spent


def check_trace(path: Path | None) -> None:
    """OptionError for a file whose ending names no format."""
    if path is not None and path.suffix not in _ENDINGS:
        raise OptionError(f"expected a file that ends in .json (Perfetto) or .vcd, found {path}", where="--trace")


def timeline_text(path: Path, events: Sequence[Event]) -> str:
    """The timeline in the format that a file's ending names. Linear in the events."""
    check_trace(path)
    return perfetto(events) if path.suffix == ".json" else vcd(events)


def perfetto(events: Sequence[Event]) -> str:
    """The timeline as the JSON that Perfetto and chrome://tracing open."""
    units = list(dict.fromkeys(event.unit for event in events))
    rows: list[dict[str, object]] = [
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": k, "args": {"name": unit}} for k, unit in enumerate(units)
    ]
    for event in events:
        row: dict[str, object] = {
            "name": event.what, "ph": "X", "ts": event.start, "dur": event.cycles, "pid": 1,
            "tid": units.index(event.unit),
        }  # fmt: skip
        if event.iterations:
            row["args"] = {"iterations": event.iterations}
        rows.append(row)
    return json.dumps({"traceEvents": rows, "displayTimeUnit": "ns"}, indent=1) + "\n"


def vcd(events: Sequence[Event]) -> str:
    """The timeline as a value change dump: for each unit what it does, as a number, and a list of the numbers."""
    units = list(dict.fromkeys(event.unit for event in events))
    names = list(dict.fromkeys(event.what for event in events))
    lines = ["$version gridloom $end", "$timescale 1ns $end"]
    lines += [f"$comment {k + 1} is {name} $end" for k, name in enumerate(names)]
    lines.append("$scope module function $end")
    lines += [f"$var wire 32 {_code(k)} {unit} $end" for k, unit in enumerate(units)]
    lines += ["$upscope $end", "$enddefinitions $end"]
    changes: dict[int, dict[int, int]] = {0: dict.fromkeys(range(len(units)), 0)}
    for event in events:
        k = units.index(event.unit)
        changes.setdefault(event.start + event.cycles, {}).setdefault(k, 0)
        changes.setdefault(event.start, {})[k] = names.index(event.what) + 1
    for time in sorted(changes):
        lines.append(f"#{time}")
        lines += [f"b{value:b} {_code(k)}" for k, value in sorted(changes[time].items())]
    return "\n".join(lines) + "\n"


def _code(k: int) -> str:
    return chr(33 + k)
