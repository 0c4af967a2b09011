"""Trace events as JSON, which Perfetto (ui.perfetto.dev) and the browsers' own viewers open: tiles over time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """What a track does from one cycle to another."""

    track: str
    name: str
    start: int
    cycles: int
    #: What the viewer shows when it is clicked.
    facts: Mapping[str, Any] = field(default_factory=dict)


def perfetto(spans: Iterable[Span], *, process: str) -> str:
    """Return spans as JSON; a cycle is shown as a microsecond, and tracks keep the order in which they first occur.

    >>> text = perfetto([Span(track="pe_0_0", name="add", start=3, cycles=1)], process="array")
    >>> [event["name"] for event in json.loads(text)["traceEvents"]]
    ['process_name', 'thread_name', 'thread_sort_index', 'add']
    """
    events: list[dict[str, Any]] = [_named("process_name", 0, process)]
    rows = list(spans)
    number = {track: k for k, track in enumerate(dict.fromkeys(span.track for span in rows))}
    for track, k in number.items():
        order = {"ph": "M", "pid": 1, "tid": k, "name": "thread_sort_index", "args": {"sort_index": k}}
        events += [_named("thread_name", k, track), order]
    events += [
        {
            "ph": "X", "pid": 1, "tid": number[span.track], "name": span.name, "ts": span.start, "dur": span.cycles,
            "args": dict(span.facts),
        }
        for span in rows
    ]  # fmt: skip
    return json.dumps({"displayTimeUnit": "ms", "traceEvents": events})


def _named(kind: str, track: int, name: str) -> dict[str, Any]:
    """The event that names a process or a track."""
    return {"ph": "M", "pid": 1, "tid": track, "name": kind, "args": {"name": name}}
