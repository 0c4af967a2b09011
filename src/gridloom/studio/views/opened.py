"""What the studio has open: mappings with what is known of them, and failures with their reasons.

A mapping is checked, measured and simulated when it is opened, by the same functions that ``gridloom map`` uses; what
it is shown as is what they found.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping as MappingABC
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.emit.details import Details
from gridloom.emit.report.source_listing import SourceListing
from gridloom.errors import GridloomError, OptionError
from gridloom.flow.confirmation import illegalities, metrics, run_simulation
from gridloom.flow.display.report import REPORTED
from gridloom.flow.files import check_names
from gridloom.mapping import json_format
from gridloom.mapping.model import Failure, Mapping

T = TypeVar("T")

#: Iterations that the simulation of an opened mapping compares.
_ITERATIONS: Final = 24


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A mapping that the page can show, with what the checks say of it."""

    mapping: Mapping
    #: Its name on the page.
    name: str
    violations: Sequence[str] = ()
    #: Why the simulation is not right, one line each; None: it was not run, since the mapping is not legal.
    findings: Sequence[str] | None = None
    metrics: MappingABC[str, Any] = field(default_factory=dict)
    listing: SourceListing | None = None
    #: The job that made it, for the command that makes it again.
    command: str = ""
    #: Nodes that the user has pinned.
    pins: MappingABC[str, str] = field(default_factory=dict)

    @cached_property
    def text(self) -> str:
        """The mapping as JSON, as ``check`` and ``simulate`` read it."""
        return json_format.dumps(self.mapping)

    @cached_property
    def id(self) -> str:
        """A name for links: the hash of the mapping and its pins."""
        pins = ",".join(f"{node}={tile}" for node, tile in sorted(self.pins.items()))
        return hashlib.sha256(f"{self.text}\n{pins}".encode()).hexdigest()[:16]

    @cached_property
    def details(self) -> Details:
        """The tables from which pictures are made."""
        return Details(self.mapping)

    @property
    def verdict(self) -> dict[str, bool | None]:
        """What is known of it, as the badges say it."""
        return {"legal": not self.violations, "simulated": None if self.findings is None else not self.findings}


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A search without a mapping, and why."""

    id: str
    name: str
    dfg: Dfg
    arch: Arch
    failure: Failure
    metrics: MappingABC[str, Any] = field(default_factory=dict)
    listing: SourceListing | None = None
    command: str = ""
    #: The II that was asked for.
    ii: int | None = None


def lines_of(listing: SourceListing | None) -> MappingABC[str, int] | None:
    """Node -> line of a source, where there is one."""
    return None if listing is None else listing.nodes


def open_mapping(
    mapping: Mapping,
    name: str,
    *,
    listing: SourceListing | None = None,
    record: MappingABC[str, Any] | None = None,
    command: str = "",
    pins: MappingABC[str, str] | None = None,
) -> Opened:
    """Check, measure and simulate a mapping; MappingError for one that names what does not exist.

    Costs time linear in its hops, and a run of a few iterations. ``record`` are figures of its search, which are shown
    beside those that are measured here.
    """
    check_names(mapping)
    broken = illegalities(mapping)
    findings: Sequence[str] | None = None
    figures: dict[str, Any] = {}
    if not broken:
        figures = metrics(mapping)
        try:
            simulation = run_simulation(mapping, iterations=_ITERATIONS, seed=0)
            findings = simulation.findings
            figures |= simulation.rate
        except GridloomError as error:
            findings = (str(error),)
    told = {key: value for key, value in (record or {}).items() if key in REPORTED and value is not None}
    return Opened(
        mapping=mapping,
        name=name,
        violations=broken,
        findings=findings,
        metrics={**told, **{key: value for key, value in figures.items() if value is not None}},
        listing=listing,
        command=command,
        pins=pins or {},
    )


class Shelf(Generic[T]):
    """The last few things by their ids; what has not been asked for longest makes room. Threads may share it."""

    def __init__(self, what: str, most: int) -> None:
        self.what = what
        self.most = most
        self._things: OrderedDict[str, T] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, key: str, thing: T) -> None:
        """Keep a thing under its id."""
        with self._lock:
            self._things[key] = thing
            self._things.move_to_end(key)
            while len(self._things) > self.most:
                self._things.popitem(last=False)

    def get(self, key: str) -> T:
        """The thing of an id; OptionError where there is none, or it had to make room."""
        with self._lock:
            if key not in self._things:
                raise OptionError(f"there is no {self.what} {key[:32]!r} any more; open it again")
            self._things.move_to_end(key)
            return self._things[key]

    def find(self, key: str) -> T | None:
        """The thing of an id; None where there is none."""
        with self._lock:
            return self._things.get(key)
