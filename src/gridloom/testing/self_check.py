"""Subjects with planted faults, and the proof that each battery fails on them.

A battery that passes everything proves nothing. Every subject here is sound but for one fault; sound subjects of the
same make show that it is the fault that the battery reports.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from gridloom import registry
from gridloom.archs.described.family import build as build_described_array
from gridloom.archs.model import Arch
from gridloom.dfg import json_format
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.errors import OptionError, SourceError
from gridloom.mapping.model import Failure
from gridloom.mapping.model import Mapping as Mapped
from gridloom.registry import Entry
from gridloom.search.budget import Budget
from gridloom.search.choice import check_suits, config_type, default_mapper, function_for
from gridloom.search.settings import origin
from gridloom.testing.cost_models import check_cost_model
from gridloom.testing.families import check_family
from gridloom.testing.mappers import Problem, check_mapper, solve_for
from gridloom.testing.promises import declare_for_a_while, require
from gridloom.testing.readers import check_reader

#: Moves of a faulty mapper: enough for the problems that kinds of arrays declare.
_EFFORT: Final = 2000


@dataclass(frozen=True, kw_only=True)
class PlantedSubject:
    """Something that a battery looks at, and what the battery has to say of it; None: nothing, it is sound."""

    battery: str
    name: str
    check: Callable[[], None]
    sentence: str | None = None


def self_test() -> list[str]:
    """Run the batteries over sound and faulty subjects and return the names of all subjects.

    AssertionError names a sound subject that a battery refuses, or a fault that it does not report.
    """
    subjects = [*mapper_subjects(), *family_subjects(), *reader_subjects(), *cost_subjects()]
    for subject in subjects:
        examine(subject)
    return [f"{subject.battery}: {subject.name}" for subject in subjects]


def examine(subject: PlantedSubject) -> None:
    """Run a battery over one subject; AssertionError where it does not say what it has to."""
    what = f"the battery for {subject.battery}"
    try:
        subject.check()
    except AssertionError as error:
        said = str(error)
        require(subject.sentence is not None, f"{what} refuses the sound {subject.name}: {said}")
        expected = subject.sentence or ""
        require(expected in said, f"{what} says of {subject.name}: {said}; expected: {expected}")
    else:
        require(subject.sentence is None, f"{what} does not report the fault of {subject.name}")


# -- mappers ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PlantedConfig:
    """Settings of the planted mappers: none."""


def sound(dfg: Dfg, arch: Arch, config: PlantedConfig, budget: Budget) -> Mapped | Failure:
    """Map as the default mapper does, under another name."""
    return _search("sound", dfg, arch, config, budget)


_DRAWN: Final = itertools.count(1)


def ignores_seed(dfg: Dfg, arch: Arch, config: PlantedConfig, budget: Budget) -> Mapped | Failure:
    """Fault: it searches with another seed at each call."""
    return _search("ignores_seed", dfg, arch, config, budget, seed=1000 * next(_DRAWN))


def counts_workers(dfg: Dfg, arch: Arch, config: PlantedConfig, budget: Budget) -> Mapped | Failure:
    """Fault: what it finds depends on the number of workers."""
    return _search("counts_workers", dfg, arch, config, budget, seed=1000 * budget.workers)


def illegal(dfg: Dfg, arch: Arch, config: PlantedConfig, budget: Budget) -> Mapped | Failure:
    """Fault: two nodes exchange their places, and their routes stay."""
    mapping = _search("illegal", dfg, arch, config, budget)
    if isinstance(mapping, Failure):
        return mapping
    first, second, *rest = mapping.instances
    return replace(mapping, instances=(replace(first, place=second.place), replace(second, place=first.place), *rest))


def deaf(dfg: Dfg, arch: Arch, config: PlantedConfig, budget: Budget) -> Mapped | Failure:
    """Fault: it does not ask whether it is interrupted."""
    return _search("deaf", dfg, arch, config, replace(budget, interrupted=None))


def gives_up(dfg: Dfg, arch: Arch, config: PlantedConfig, budget: Budget) -> Mapped | Failure:
    """Fault: interrupted, it raises instead of returning the best so far."""
    if budget.interrupted is not None and budget.interrupted():
        raise KeyboardInterrupt
    return _search("gives_up", dfg, arch, config, budget)


def impostor(dfg: Dfg, arch: Arch, config: PlantedConfig, budget: Budget) -> Mapped | Failure:
    """Fault: it refuses in the name of another mapper."""
    try:
        return _search("impostor", dfg, arch, config, budget)
    except OptionError as error:
        raise OptionError(error.message.replace("impostor", "somebody")) from None


def mislabels(dfg: Dfg, arch: Arch, config: PlantedConfig, budget: Budget) -> Mapped | Failure:
    """Fault: its mapping says that another mapper made it."""
    mapping = _search("mislabels", dfg, arch, config, budget)
    return mapping if isinstance(mapping, Failure) else _with_record(mapping, mapper="somebody")


def forgets_version(dfg: Dfg, arch: Arch, config: PlantedConfig, budget: Budget) -> Mapped | Failure:
    """Fault: its mapping does not say which version made it."""
    mapping = _search("forgets_version", dfg, arch, config, budget)
    if isinstance(mapping, Failure):
        return mapping
    return replace(mapping, provenance={key: value for key, value in mapping.provenance.items() if key != "version"})


def silent(dfg: Dfg, arch: Arch, config: PlantedConfig, budget: Budget) -> Mapped | Failure:
    """Fault: it reports no progress."""
    return _search("silent", dfg, arch, config, replace(budget, progress=None))


def _with_record(mapping: Mapped, **changed: Any) -> Mapped:
    return replace(mapping, provenance={**mapping.provenance, **changed})


def _search(
    name: str, dfg: Dfg, arch: Arch, config: PlantedConfig, budget: Budget, seed: int | None = None
) -> Mapped | Failure:
    """What the default mapper of the array finds, under another name."""
    check_suits(name, dfg, arch)
    clock = budget.start()
    function = function_for(default_mapper(arch), arch)
    inner = replace(budget, seed=budget.seed if seed is None else seed)
    found = function(dfg, arch, config_type(function)(), inner)
    return found if isinstance(found, Failure) else replace(found, provenance=origin(name, config, clock))


_MAPPER_FAULTS: Final[Mapping[Any, str | None]] = {
    sound: None,
    ignores_seed: "different bytes when it runs twice",
    counts_workers: "different bytes with one worker and with three",
    illegal: "returns a mapping that is not legal",
    deaf: "never asks whether it is interrupted",
    gives_up: "interrupted, raises KeyboardInterrupt",
    impostor: "refuses",
    mislabels: "says of itself",
    forgets_version: "leaves version out of the provenance",
    silent: "reports no progress",
}


def mapper_subjects() -> Iterator[PlantedSubject]:
    """A sound mapper, and one for each fault, on the first kind of array that has a problem."""
    problem: Problem = next(kind.problem for kind in registry.kinds().values() if kind.problem is not None)
    solve_for(problem)
    for function, sentence in _MAPPER_FAULTS.items():

        def check(function: Any = function) -> None:
            check_mapper(function, effort=_EFFORT, problem=problem)

        yield PlantedSubject(battery="mappers", name=function.__name__, check=check, sentence=sentence)


# -- families ---------------------------------------------------------------------------------------------------------

_GRID: Final = {
    "family": "array", "style": "static", "rows": 3, "cols": 3, "links": {"pattern": "mesh"},
    "tiles": [{"ops": ["alu", "io"], "fifo": 4}],
}  # fmt: skip


def _planted_array(spec: Mapping[str, Any]) -> Arch:
    """A small grid under the name of the family that is asked for."""
    name = str(spec["family"])
    return replace(build_described_array(_GRID), name=name, spec={"family": name})


def _sound_family(spec: Mapping[str, Any]) -> Arch:
    return _planted_array(spec)


def _broken_arc(spec: Mapping[str, Any]) -> Arch:
    """Fault: an arc leads to a resource that is not there."""
    arch = _planted_array(spec)
    target = arch.arc_target.copy()
    target[3] = len(arch.resource_names)
    return replace(arch, arc_target=target)


def _lost_tile(spec: Mapping[str, Any]) -> Arch:
    """Fault: nothing enters or leaves the last tile."""
    arch = _planted_array(spec)
    last = len(arch.tiles) - 1
    inside = arch.tile[arch.arc_source] == arch.tile[arch.arc_target]
    ends = (arch.tile[arch.arc_source] == last) | (arch.tile[arch.arc_target] == last)
    kept = inside | ~ends
    return replace(
        arch,
        arc_source=arch.arc_source[kept],
        arc_target=arch.arc_target[kept],
        arc_latency=arch.arc_latency[kept],
        arc_gate=arch.arc_gate[kept],
    )


def _twin_names(spec: Mapping[str, Any]) -> Arch:
    """Fault: two tiles have one name."""
    arch = _planted_array(spec)
    first, second, *rest = arch.tiles
    return replace(arch, tiles=(first, replace(second, name=first.name), *rest))


def _drifting(spec: Mapping[str, Any]) -> Arch:
    """Fault: each array that it builds is another one."""
    arch = _planted_array(spec)
    return replace(arch, arc_latency=arch.arc_latency + np.int32(next(_DRAWN)))


def _misnamed(spec: Mapping[str, Any]) -> Arch:
    """Fault: the name of its array is no ARCH."""
    return replace(_planted_array(spec), name="nobody-has-this-name")


_FAMILY_FAULTS: Final[Mapping[Any, str | None]] = {
    _sound_family: None,
    _broken_arc: "enters a resource that is not there",
    _lost_tile: "pe_2_2",
    _twin_names: "two tiles have one name",
    _drifting: "its text builds another array",
    _misnamed: "is no ARCH",
}


def family_subjects() -> Iterator[PlantedSubject]:
    """A sound family, and one for each fault."""
    for builder, sentence in _FAMILY_FAULTS.items():
        name = "planted-" + builder.__name__.strip("_").replace("_", "-")

        def check(builder: Any = builder, name: str = name) -> None:
            with declare_for_a_while("archs", name, Entry(builder, "a planted family")):
                check_family(name, effort=_EFFORT)

        yield PlantedSubject(battery="families", name=name, check=check, sentence=sentence)


# -- readers ----------------------------------------------------------------------------------------------------------


def _reader(path: Path) -> Dfg:
    return json_format.loads(path.read_text(encoding="utf-8"), str(path))


def _loses_an_edge(path: Path) -> Dfg:
    """Fault: an edge that the file has is not in the graph."""
    graph = _reader(path)
    return replace(graph, nodes=graph.nodes[:-1], edges=graph.edges[:-1])


def _wavers(path: Path) -> Dfg:
    """Fault: each time it reads another graph."""
    return replace(_reader(path), name=f"graph_{next(_DRAWN)}")


def _crashes(path: Path) -> Dfg:
    """Fault: what is wrong with a file leaves it as an exception of Python's."""
    json.loads(path.read_text(encoding="utf-8"))
    return _reader(path)


def _invents(path: Path) -> Dfg:
    """Fault: an empty file is a graph."""
    return _reader(path) if path.stat().st_size else _small_graph()


def _refuses(path: Path) -> Dfg:
    """Fault: it refuses a sound file."""
    raise SourceError("is of no kind that is read", where=str(path))


_READER_FAULTS: Final[Mapping[Any, str | None]] = {
    _reader: None,
    _loses_an_edge: "edges; expected",
    _wavers: "gives another graph when it is read again",
    _crashes: "expected a GridloomError",
    _invents: "is read as a graph",
    _refuses: "is refused",
}


def _small_graph() -> Dfg:
    b = DfgBuilder("small", "i32")
    x = b.input("x")
    b.output(b.add("add", x, b.const(1)), "y")
    b.output(b.add("neg", x), "z")
    return b.build()


def reader_subjects() -> Iterator[PlantedSubject]:
    """A sound reader, and one for each fault; each reads a small graph."""
    graph = _small_graph()
    for reader, sentence in _READER_FAULTS.items():

        def check(reader: Any = reader) -> None:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "small.json"
                path.write_text(json_format.dumps(graph), encoding="utf-8")
                check_reader(path, reader=reader, edges=len(graph.edges))

        yield PlantedSubject(battery="readers", name=reader.__name__.strip("_"), check=check, sentence=sentence)


# -- cost models ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Routes:
    """Decisions of which only the mean length of their routes is known."""

    hops: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.hops)

    def only(self, decision: int) -> _Routes:
        """A batch of one decision."""
        return _Routes(self.hops[decision : decision + 1])


@dataclass(frozen=True)
class _Sample:
    pipeline: None = None
    decisions: _Routes = _Routes((1.0, 2.5, 4.0))
    better: int = 0
    worse: int = 2


class _Short:
    """Short routes are efficient."""

    name = "planted"

    def efficiency(self, _: Any, decisions: _Routes) -> Any:
        """One number for each decision."""
        return 1 / (1 + np.array(decisions.hops))


class _Nowhere(_Short):
    """Fault: a number is no number."""

    def efficiency(self, _: Any, decisions: _Routes) -> Any:
        """One number for each decision."""
        return np.where(np.array(decisions.hops) > 2, np.nan, 0.5)


class _Moody(_Short):
    """Fault: it gives other numbers each time."""

    def efficiency(self, _: Any, decisions: _Routes) -> Any:
        """One number for each decision."""
        return super().efficiency(_, decisions) / next(_DRAWN)


class _Relative(_Short):
    """Fault: the number of a decision depends on those beside it."""

    def efficiency(self, _: Any, decisions: _Routes) -> Any:
        """One number for each decision."""
        found = super().efficiency(_, decisions)
        return found / found.max()


class _BackwardCost(_Short):
    """Fault: long routes are efficient."""

    def efficiency(self, _: Any, decisions: _Routes) -> Any:
        """One number for each decision."""
        return 1 - super().efficiency(_, decisions)


class _Scalar(_Short):
    """Fault: one number for all decisions."""

    def efficiency(self, _: Any, decisions: _Routes) -> Any:
        """One number."""
        return super().efficiency(_, decisions).mean()


_COST_FAULTS: Final[Mapping[Any, str | None]] = {
    _Short: None,
    _Nowhere: "not finite",
    _Moody: "asked twice",
    _Relative: "in a batch",
    _BackwardCost: "ranks a placement with short routes below",
    _Scalar: "of shape",
}


def cost_subjects() -> Iterator[PlantedSubject]:
    """A sound cost model, and one for each fault."""
    for model, sentence in _COST_FAULTS.items():

        def check(model: Any = model) -> None:
            with declare_for_a_while("costs", "planted", Entry(model, "a planted cost model")):
                check_cost_model("planted", sample=_Sample)

        yield PlantedSubject(
            battery="cost models", name=model.__name__.strip("_").lower(), check=check, sentence=sentence
        )
