"""The record of a claim: what it measures, with which function, on what it depends, and how exact a repetition is."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]

REPOSITORY = Path(__file__).resolve().parents[1]
#: Packages that every mapping depends on; the package of its target comes on top.
MAPPING = ("dfg", "archs", "mapping", "search", "verify", "sim")


def published_folder() -> Path:
    """Return the folder of the graphs that other groups published."""
    named = os.environ.get("GRIDLOOM_BENCHMARKS")
    return Path(named) if named else REPOSITORY.parent / "shared" / "benchmarks"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A table of measured rows. ``SUITE/NAME`` is its name, its file below ``results`` and its place on a page."""

    name: str
    #: One line: what a row says.
    measures: str
    #: True for the quick variant -> the questions, one for each row (or list of rows).
    ask: Callable[[bool], Iterable[Row]]
    #: A question -> the columns that are measured; a list where one question gives several rows.
    measure: Callable[[Row], Row | list[Row]]
    #: Modules of gridloom whose change makes a stored result stale.
    depends: tuple[str, ...]
    #: Minutes on 2 cores, whole and quick; None: there is no such variant.
    minutes: float | None = None
    quick_minutes: float | None = None
    #: Column -> how far it may move, as a share; infinity: it is not compared. Other columns are equal.
    tolerance: Mapping[str, float] = field(default_factory=dict)
    #: Importable packages, programs, files, ``$VARIABLE``, and ``published graphs`` that a run needs.
    needs: tuple[str, ...] = ()
    #: All rows -> figures for the first table of the page.
    figures: Callable[[Rows], Row] | None = None
    #: All rows -> rows of the table on the page; None: the rows themselves.
    table: Callable[[Rows], Rows] | None = None
    #: All rows -> sentences about rivals, from ``gridloom.statistics``.
    verdicts: Callable[[Rows], Sequence[str]] | None = None
    #: All rows -> an SVG picture.
    picture: Callable[[Rows], str] | None = None

    @property
    def suite(self) -> str:
        """The page that the claim is on, and its folder below ``results``."""
        return self.name.partition("/")[0]

    @property
    def file(self) -> Path:
        """The file of the stored result."""
        return REPOSITORY / "results" / f"{self.name}.json"

    def command(self, quick: bool) -> str:
        """Return the command that measures it."""
        return f"python -m benchmarks run {self.name}{' --quick' * quick}"

    def missing(self) -> list[str]:
        """Return what a run needs and this machine lacks."""
        return [need for need in self.needs if not _is_there(need)]


def _is_there(need: str) -> bool:
    if need == "published graphs":
        return published_folder().is_dir()
    if need.startswith("$"):
        return need[1:] in os.environ
    if need.startswith("/"):
        return Path(need).is_file()
    return bool(shutil.which(need)) or importlib.util.find_spec(need) is not None
