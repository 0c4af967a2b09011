"""What a user asks of a flow: the source, the array, the mapper and what it may cost."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gridloom.compiler.ir.c_source import PLAIN
from gridloom.errors import OptionError
from gridloom.limits import check_numbers

if TYPE_CHECKING:
    from gridloom.flow.inputs import ArchLike, Source
    from gridloom.search.budget import Reporter
    from gridloom.search.choice import MapperFunction

#: node -> tile, or a file that says so.
Placement = Mapping[str, str] | str | Path
_NUMBERS: Final = ("ii", "seed", "time_limit", "effort", "jobs", "iterations")


@dataclass(frozen=True, kw_only=True)
class Request:
    """One mapping to be made. Its fields are the options of ``gridloom map``.

    The constructor checks numbers (OptionError); names are looked up when the flow runs. The same request gives the
    same mapping where ``effort`` limits the search, and ``time_limit`` does not.
    """

    #: A graph, a kernel written in Python, or a SOURCE: a file, or ``kernel:NAME,key=value,...``.
    source: Source
    #: An array, or an ARCH: a family with parameters, or a YAML file.
    arch: ArchLike
    #: The mapper's name, or a function ``(dfg, arch, config, budget)``; ``auto`` takes the one for the array's style.
    mapper: str | MapperFunction = "auto"
    #: The II to map at; None: the mapper's choice. Static arrays have II 1.
    ii: int | None = None
    seed: int = 0
    #: Seconds of search, compilation excluded; None: no limit.
    time_limit: float | None = None
    #: Whether these are seconds of CPU time.
    cpu_time: bool = False
    #: Moves (or the mapper's own unit of work); None: no limit.
    effort: int | None = None
    #: Workers that search at the same time.
    jobs: int = 1
    #: Fields of the mapper's configuration, as values or as text.
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: A complete placement that is only routed and balanced; one to start from; nodes that stay where they are.
    place: Placement | None = None
    init: Placement | None = None
    pin: Placement | None = None
    #: Go on until what is found is proved to be the best; ``auto`` then takes a mapper that proves.
    prove: bool = False
    #: Split the iterations of one loop over the SIMD lanes of the array, instead of running a loop in each lane.
    split_lanes: bool = False
    #: Iterations that the simulation compares.
    iterations: int = 64
    progress: Reporter | None = None
    #: True once the user wants the search to end; it then returns the best it has.
    interrupted: Callable[[], bool] | None = None

    def __post_init__(self) -> None:
        check_numbers({name: getattr(self, name) for name in _NUMBERS})
        if self.place is not None and self.init is not None:
            raise OptionError("--place fixes every node, --init is only a start; give one of them")


def limit_seconds(time_limit: float | None, cpu_limit: float | None) -> dict[str, Any]:
    """Return the fields of a request for a limit in seconds, or in seconds of CPU time; OptionError for both."""
    if time_limit is not None and cpu_limit is not None:
        raise OptionError("--time-limit counts seconds, --cpu-limit those of CPU time; give one of them")
    return {"time_limit": time_limit if cpu_limit is None else cpu_limit, "cpu_time": cpu_limit is not None}


#: The fields of a request that guide its search, in the order of a command.
_GUIDES: Final = (
    "mapper", "seed", "ii", "time_limit", "cpu_limit", "effort", "place", "init", "pin", "set", "prove",
    "split_lanes",
)  # fmt: skip


def write_command(asked: Mapping[str, Any]) -> str:
    """The ``gridloom map`` command that makes the same mapping again, from the fields of a request.

    Files that are written and ``--jobs`` are left out, and so are fields that are missing, None or False.

    >>> write_command({"source": "kernel:fir", "arch": "mesh:4x4", "time_limit": 2.0, "settings": {"starts": 3}})
    'gridloom map kernel:fir --arch mesh:4x4 --time-limit 2 --set starts=3'
    """
    if asked.get("cpu_time"):
        asked = {**asked, "time_limit": None, "cpu_limit": asked["time_limit"]}
    words = ["gridloom", "map", str(asked["source"]), "--arch", str(asked["arch"])]
    words += shlex.split(getattr(asked["source"], "options", PLAIN).text)
    settings = [f"{key}={value}" for key, value in (asked.get("settings") or {}).items()]
    for name in _GUIDES:
        for value in settings if name == "set" else [asked.get(name)]:
            if value is not None and value is not False:
                text = str(value).removesuffix(".0") if isinstance(value, float) else str(value)
                words += [f"--{name.replace('_', '-')}", *([] if value is True else [text])]
    return shlex.join(words)
