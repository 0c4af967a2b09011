"""A mapping with its run as one HTML file: it opens offline, steps through cycles and explains the II."""

from __future__ import annotations

import base64
from typing import Any, Final

from gridloom.emit.picture.text import escape
from gridloom.emit.report.data import script_json
from gridloom.sim.trace.clocked import ClockedTrace
from gridloom.studio.page import offline_page
from gridloom.studio.views import values
from gridloom.studio.views.values import StudioRun

#: Bytes of values that a shared file carries; a longer run is cut.
MOST_BYTES: Final = 8_000_000


def shared_page(scene: dict[str, Any], explanation: dict[str, Any], run: StudioRun | None, mapping: str) -> str:
    """The file as text. Without a run it shows the mapping and explains it."""
    data = {"scene": scene, "explanation": explanation, "run": None if run is None else _run(run), "mapping": mapping}
    return offline_page(escape(f"{scene['title']}: gridloom studio"), script_json(data))


def _run(run: StudioRun) -> dict[str, Any]:
    """The head of a run, and its words in base64, as many cycles as there is room for."""
    head = values.head(run)
    if not isinstance(run.trace, ClockedTrace):
        return {"head": head}
    cycles = min(run.trace.cycles, max(1, MOST_BYTES // (8 * max(1, len(head["rows"])))))
    head |= {"cycles": cycles, "cut": cycles < run.trace.cycles}
    kept = run.trace.values[:cycles]
    words = {part: values.words(run, part) for part in ("results", "memory", "stores")}
    words["values"] = bytes(kept.astype("<i8").tobytes())
    return {"head": head, "words": {part: base64.b64encode(data).decode("ascii") for part, data in words.items()}}
