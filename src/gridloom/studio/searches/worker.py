"""What a worker process does for the studio: it maps, tells how the search goes, and hears when it shall end.

The process connects to the server by a pipe of its own. It sends at most ten frames per second, and looks at the
search only for those that it sends, so that watching costs the search next to nothing.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Client, Connection
from typing import Any, Final

from gridloom.emit.report.source_listing import SourceListing
from gridloom.errors import GridloomError
from gridloom.flow.request import Request
from gridloom.flow.result import Result, failure_record
from gridloom.search.budget import Progress

#: Seconds between two frames.
FRAME: Final = 0.1
#: Seconds between two looks at whether the search shall end.
_LISTEN: Final = 0.05


@dataclass(frozen=True, kw_only=True)
class SearchTask:
    """One search: what is asked for, and how to reach the server. Everything in it is plain data."""

    id: str
    #: The fields of a Request, with the source and the array as text or plain data.
    request: Mapping[str, Any]
    #: A mapping as JSON whose graph and array are mapped, instead of a source.
    mapping: str | None = None
    #: Where the server listens, and the key that it asks for.
    address: str = ""
    key: bytes = b""


class ServerLine:
    """The pipe to the server, kept quiet: frames that come too soon are left out."""

    def __init__(self, task: SearchTask) -> None:
        self.pipe: Connection | None = Client(task.address, authkey=task.key) if task.address else None
        self.sent = 0.0
        self.heard = 0.0
        self.ended = False
        self.tell({"job": task.id, "pid": os.getpid()})

    def tell(self, frame: Mapping[str, Any]) -> None:
        """Send a frame; a server that is gone ends the search."""
        if self.pipe is None:
            return
        try:
            self.pipe.send_bytes(json.dumps(frame).encode())
        except OSError:
            self.ended = True

    def listen(self, progress: Progress) -> None:
        """Take a report of the search, and send it on unless the last one is too fresh."""
        now = time.monotonic()
        if now - self.sent < FRAME and progress.phase != "done":
            return
        self.sent = now
        frame: dict[str, Any] = {
            "seconds": round(progress.seconds, 3), "moves": progress.moves, "phase": progress.phase,
            "best": progress.best, "compiling": progress.compiling,
        }  # fmt: skip
        if progress.look is not None:
            look = progress.look()
            frame |= {"cost": look.cost, "legal": look.legal, "congested": list(look.congested)}
            if len(look.placed) <= 5000:
                frame["placed"] = dict(look.placed)
        self.tell(frame)

    def interrupted(self) -> bool:
        """Whether the user wants the search to end; asked often, answered from the pipe now and then."""
        now = time.monotonic()
        if self.pipe is not None and not self.ended and now - self.heard > _LISTEN:
            self.heard = now
            try:
                self.ended = self.pipe.poll() and self.pipe.recv_bytes() == b"stop"
            except (OSError, EOFError):
                self.ended = True
        return self.ended

    def close(self) -> None:
        """Hang up."""
        if self.pipe is not None:
            self.pipe.close()


def run_task(task: SearchTask) -> dict[str, Any]:
    """Map as a task asks, and return the record, the mapping as JSON, and the source beside it, as plain data.

    A GridloomError is part of the answer, since it says what the user can do; everything else is raised.
    """
    line = ServerLine(task)
    try:
        return {"error": None, **_mapped(task, line)}
    except GridloomError as error:
        return {"error": str(error), "record": None, "mapping": None}
    finally:
        line.close()


def _mapped(task: SearchTask, line: ServerLine) -> dict[str, Any]:
    """Run the flow of a task."""
    from gridloom.flow.run import map_graph, run
    from gridloom.mapping import json_format

    if task.mapping is None:
        result = run(Request(**task.request, progress=line.listen, interrupted=line.interrupted))
    else:
        given = json_format.loads(task.mapping, "mapping")
        request = Request(source=given.dfg, arch=given.arch, **task.request, progress=line.listen,
                          interrupted=line.interrupted)  # fmt: skip
        result = map_graph(request, given.dfg, given.arch)
    return _answer(result)


def _answer(result: Result) -> dict[str, Any]:
    """A result as plain data."""
    from gridloom.dfg import json_format as graphs
    from gridloom.mapping import json_format

    kept = result.mapping or result.refused
    listing = None if result.text is None else result.text.listing(result.dfg, result.remarks)
    failed: dict[str, Any] = {}
    if result.mapping is None and result.failure is not None:
        failed = {
            "failure": failure_record(result.failure),
            "graph": graphs.dumps(result.dfg),
            "arch": dict(result.arch.spec),
        }
    return {
        "record": result.to_dict(),
        "mapping": None if kept is None else json_format.dumps(kept),
        "listing": None if listing is None else listing_record(listing),
        **failed,
    }


def listing_record(listing: SourceListing) -> dict[str, Any]:
    """A listing as plain data."""
    return {
        "file": listing.file, "first": listing.first, "lines": list(listing.lines), "nodes": dict(listing.nodes),
        "remarks": list(listing.remarks),
    }  # fmt: skip


def listing_of(record: Mapping[str, Any] | None) -> SourceListing | None:
    """The listing of plain data."""
    return None if record is None else SourceListing(**record)


def warm_up() -> None:
    """Import what a search needs, so that the first one does not wait for it."""
    import gridloom.flow.run
    import gridloom.sim.execute
    import gridloom.verify  # noqa: F401
