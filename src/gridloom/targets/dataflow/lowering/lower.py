"""Tensor programs as units of a dataflow array: balanced stages, token counts, and sections where it is too large.

Operations become stages (``stages``), stages get compute units in proportion to their work, and units with
their streams are the nodes and edges of a graph that any elastic mapper takes (``units``). An iteration of
that graph is one block of rows; a sample is so many blocks. What does not fit is cut into sections: each is
mapped alone, and what crosses a cut goes through DRAM. Lowering costs a few milliseconds per section.

The steps, from the outside in:

1. ``stages_of`` groups the operations into stages and counts their work for one block of rows.
2. ``split_columns`` cuts products whose weights alone would fill most of the array.
3. ``lower`` takes as many of the next stages as fit together with the fewest units each: a section.
4. Within a section, a binary search over the period of the slowest stage finds the shortest one for which the array has
   enough units (``_balanced``). The units of every attempt are really made, since memory units and DRAM interfaces
   follow from the streams between stages and cannot be counted beforehand.

The period that is found is a bound: placement and routing decide how near to it the array runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from gridloom.archs.model import Arch
from gridloom.errors import SourceError
from gridloom.targets.dataflow.lowering.stages import (
    Merge,
    Operand,
    Stage,
    TensorStages,
    UnitFabric,
    split_columns,
    stages_of,
)
from gridloom.targets.dataflow.lowering.units import SectionUnits, Stream, TooLarge, unit_counts
from gridloom.targets.dataflow.program.model import TensorProgram, UnitGraph

#: Stages that are tried together for a section; every one takes at least a compute unit.
_MOST_STAGES: Final = 128


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a program that is on the array at one time.

    ``dfg`` is what a mapper gets. Sections of a program run one after the other, each over all blocks of a sample; what
    one hands to another is written to DRAM and read back, which ``dram_in`` and ``dram_out`` count.
    """

    #: Its units: the graph that is mapped. One iteration is one block of rows.
    dfg: UnitGraph
    stages: tuple[Stage, ...]
    #: Stage -> compute units.
    units: dict[str, int]
    #: Blocks of a sample.
    blocks: int
    #: Cycles per block that the slowest stage needs at the least: its operations over what its units do per cycle.
    bound: Fraction
    #: Vectors per sample that come from DRAM and that go to it.
    dram_in: int
    dram_out: int
    #: Copies of all units that are on the array: each works on a sample of its own.
    copies: int = 1
    #: Memory units that hold a whole sample of their inputs before they are read: attention's operands.
    held: tuple[str, ...] = ()

    @property
    def weights(self) -> int:
        """Vectors of weights that have to be in memory units before it can run, of one copy."""
        return sum(stage.weights for stage in self.stages)

    @property
    def flops(self) -> int:
        """Floating-point operations of a sample."""
        return sum(stage.flops for stage in self.stages)


@dataclass(frozen=True, kw_only=True)
class LoweredProgram:
    """A tensor program on an array: its sections in the order in which they run."""

    name: str
    sections: tuple[Section, ...]


def lower(
    dfg: TensorProgram, arch: Arch, *, fill: float = 0.95, copies: int = 1, merge: Merge = "vectors"
) -> LoweredProgram:
    """Return the sections of a tensor program, in order.

    ``fill`` is the largest share of each kind of unit that a section may use: the rest gives the placer and the router
    room. A section streams over one number of rows; where that changes (strided convolutions, pooling) a section ends.
    SourceError when the array has no switches, or when an operation does not fit even alone. With ``copies`` a section
    is on the array up to so many times where there is room, each copy with samples of its own (not in training, where
    samples share sums). ``merge`` is that of :func:`stages_of`. A program that fits whole keeps its name; sections are
    otherwise called ``name#0``, ``name#1``.
    """
    whole = UnitFabric.of(arch)
    fabric = _filled(whole, fill)
    found = split_columns(stages_of(dfg, fabric, merge=merge), fabric)
    sections: list[Section] = []
    left = list(found.stages)
    if any(stage.kind == "weight_grad" for stage in left):
        copies = 1
    while left:
        used = fabric
        count, lack = _fitting(found, _together(left), fabric)
        # Alone, an operation may wait for DRAM: with a quarter of the interfaces for each stream, or fewer.
        for share in (4, 8, fabric.dram) if lack == "dram units" and not count else ():
            used = replace(fabric, most_interfaces=max(1, fabric.dram // share))
            count, lack = _fitting(found, left[:1], used)
            if count:
                break
        if not count:
            raise SourceError(
                f"stage {left[0].id!r} does not fit array {arch.name!r} even alone: too few {lack}; take a larger one",
                where=f"graph {dfg.name!r}",
            )
        sections.append(_copied(found, left[:count], used, len(sections), copies))
        left = left[count:]
    # A program that is not cut keeps its name, so that its mapping and report bear it.
    if len(sections) == 1:
        sections = [replace(sections[0], dfg=sections[0].dfg.renamed(dfg.name))]
    return LoweredProgram(name=dfg.name, sections=tuple(sections))


def _together(stages: list[Stage]) -> list[Stage]:
    """Return the next stages that may share a section: those up to the first that streams over other rows."""
    rows = stages[0].rows
    other = next((k for k, stage in enumerate(stages) if stage.rows != rows), len(stages))
    return stages[: min(other, _MOST_STAGES)]


def alike(sections: tuple[Section, ...]) -> list[list[Section]]:
    """Return the sections in groups that are mapped alike: the same units, work and edges under any names.

    Linear in the sizes of the sections.

    Networks repeat their layers, so that one mapping serves all sections of a group.
    """
    groups: dict[tuple[object, ...], list[Section]] = {}
    for section in sections:
        groups.setdefault(_shape(section), []).append(section)
    return list(groups.values())


def _shape(section: Section) -> tuple[object, ...]:
    """Return what two sections must share to be mapped alike."""
    dfg = section.dfg
    nodes = tuple((node.op, node.work) for node in dfg.nodes)
    edges = tuple(
        (dfg.index[e.source], dfg.index[e.target], e.tokens, e.takes, e.puts_every, e.takes_every, e.room, e.part)
        for e in dfg.edges
    )
    return nodes, edges, section.blocks, section.bound, section.copies


def _filled(fabric: UnitFabric, fill: float) -> UnitFabric:
    """Return the fabric with only a share of its compute and memory units; DRAM interfaces are all used."""
    return replace(fabric, compute=max(1, int(fill * fabric.compute)), memory=max(1, int(fill * fabric.memory)))


def _fitting(whole: TensorStages, stages: list[Stage], fabric: UnitFabric) -> tuple[int, str]:
    """Return how many of the next stages fit together with the fewest units each, and what the next one lacks.

    Stages are added one by one until the units can no longer be made. A stage that has no possible number of units at
    all lacks memory units: its operands do not fit.
    """
    least: dict[str, int] = {}
    for count, stage in enumerate(stages):
        least[stage.id] = next(iter(unit_counts(stage, fabric)), 0)
        if not least[stage.id]:
            return count, "memory units"
        emitted = _emit(whole, stages[: count + 1], least, fabric)
        if isinstance(emitted, str):
            return count, emitted
    return len(stages), ""


def _copied(whole: TensorStages, stages: list[Stage], fabric: UnitFabric, number: int, most: int) -> Section:
    """Return the section with as many copies, at most ``most``, as give the most samples per cycle."""
    best = _balanced(whole, stages, fabric, number, 1)
    for copies in range(2, most + 1):
        try:
            section = _balanced(whole, stages, fabric, number, copies)
        except TooLarge:
            break
        if section.bound * best.copies < best.bound * copies:
            best = section
    return best


def _balanced(whole: TensorStages, stages: list[Stage], fabric: UnitFabric, number: int, copies: int) -> Section:
    """Return the section with the shortest period of its slowest stage for which there are units: a binary search.

    The candidates are the periods at which the number of units of some stage changes. The longest is known to fit from
    ``_fitting``. The search takes for granted that what fits at one period fits at every longer one; where that fails
    it may end at a longer period than necessary, never with units that do not fit. TooLarge where so many copies do
    not fit.
    """
    counts = {stage.id: unit_counts(stage, fabric) for stage in stages}
    periods = sorted({Fraction(stage.cycles(fabric), n) for stage in stages for n in counts[stage.id]})
    low, high = 0, len(periods) - 1
    chosen = _units_for(stages, counts, periods[high], fabric)
    emitted = _emit(whole, stages, chosen, fabric, copies)
    while low < high:
        middle = (low + high) // 2
        attempt = _units_for(stages, counts, periods[middle], fabric)
        result = _emit(whole, stages, attempt, fabric, copies) if all(attempt.values()) else "compute units"
        if isinstance(result, str):
            low = middle + 1
        else:
            high, chosen, emitted = middle, attempt, result
    if isinstance(emitted, str):
        raise TooLarge(emitted)
    return Section(
        dfg=emitted.units.build(f"{whole.name}#{number}"),
        stages=tuple(stages),
        units=chosen,
        blocks=whole.blocks(stages[0].id),
        bound=max(Fraction(stage.cycles(fabric), chosen[stage.id]) for stage in stages),
        dram_in=emitted.vectors_in * whole.blocks(stages[0].id),
        dram_out=emitted.vectors_out * whole.blocks(stages[0].id),
        copies=copies,
        held=tuple(emitted.units.held),
    )


def _units_for(
    stages: list[Stage], counts: dict[str, list[int]], period: Fraction, fabric: UnitFabric
) -> dict[str, int]:
    """Return the fewest compute units of each stage for a period; 0: no number is enough."""
    return {stage.id: next((n for n in counts[stage.id] if stage.cycles(fabric) <= n * period), 0) for stage in stages}


@dataclass(frozen=True, slots=True)
class _Emitted:
    """The units of a section that fits, and the vectors per block that cross its border."""

    units: SectionUnits
    vectors_in: int
    vectors_out: int


def _emit(
    whole: TensorStages, stages: list[Stage], chosen: dict[str, int], fabric: UnitFabric, copies: int = 1
) -> _Emitted | str:
    """Return the units of a section; when they do not fit, what there is too little of.

    The vectors that cross its border are those of one copy.
    """
    units = SectionUnits(fabric)
    try:
        for copy in range(copies):
            units.suffix = f"@{copy}" if copies > 1 else ""
            vectors_in, vectors_out = _emit_copy(whole, stages, chosen, units)
        # The graph is thrown away here; building it tests the number of operands, which only the finished edges tell.
        units.build("section")
    except TooLarge as lack:
        return str(lack)
    return _Emitted(units, vectors_in, vectors_out)


def _emit_copy(
    whole: TensorStages, stages: list[Stage], chosen: dict[str, int], units: SectionUnits
) -> tuple[int, int]:
    """Add the units of a section once; return the vectors per block that come in and go out.

    Stages are made in order. An operand from outside the section becomes a DRAM input the first time it is read, and a
    result that is read outside becomes a DRAM output.
    """
    inside = {stage.id for stage in stages}
    blocks = whole.blocks(stages[0].id)
    period = max(stage.cycles(units.fabric) // max(1, chosen[stage.id]) for stage in stages)
    streams: dict[tuple[str, int, str], Stream] = {}
    vectors_in = vectors_out = 0
    for stage in stages:
        inputs = []
        for operand, view in zip(stage.inputs, stage.views or (None,) * len(stage.inputs)):
            read = _Read(*_part_of(operand, stage), view[0] if view else "")
            for name in read.names:
                if name not in inside and (name, read.part, read.view) not in streams:
                    size = whole.block_vectors(name, blocks)
                    size = max(1, (min(size, -(-view[1] // blocks)) if view else size) // read.parts)
                    suffix = f"/{read.part}" if read.parts > 1 else ""
                    source = units.source(f"{read.view or name}{suffix}", size, period)
                    streams[name, read.part, read.view] = source
                    vectors_in += size
            inputs.append(_operand_stream(streams, read, inside))
        streams[stage.id, 0, ""] = units.stage(stage, chosen[stage.id], inputs)
    for name in _leaving(whole, stages):
        units.sink(f"{name}.out", streams[name, 0, ""], period)
        vectors_out += whole.sizes[name]
    return vectors_in, vectors_out


@dataclass(frozen=True, slots=True)
class _Read:
    """What a stage reads: the results of these, one part of so many of them, or what a view shows of one."""

    names: Operand
    part: int
    parts: int
    view: str


def _part_of(operand: Operand, stage: Stage) -> tuple[Operand, int, int]:
    """Return what a part of a batch reads: the matching parts of its operand, or its share of the whole.

    The result is (names, part, parts). Where the operand was cut into the same number of parts, or a multiple, the part
    reads the whole results of its own ones, and ``parts`` is 1.
    """
    each, rest = divmod(len(operand), stage.parts)
    if rest == 0 and stage.parts > 1:
        return operand[stage.part * each : (stage.part + 1) * each], 0, 1
    return operand, stage.part, stage.parts


def _operand_stream(streams: dict[tuple[str, int, str], Stream], read: _Read, inside: set[str]) -> Stream:
    """Return the stream of an operand: whole results side by side, or one part of each."""
    parts: list[tuple[str, int]] = []
    level = 0
    for name in read.names:
        stream = streams[(name, 0, "") if name in inside else (name, read.part, read.view)]
        whole = name in inside and read.parts > 1
        parts += stream.share(read.part, read.parts) if whole else stream.parts
        level = max(level, stream.level)
    return Stream(tuple(parts), level)


def _leaving(whole: TensorStages, stages: list[Stage]) -> list[str]:
    """Return the stages of a section whose results are read elsewhere, or are results of the program."""
    inside = {stage.id for stage in stages}
    return [stage.id for stage in stages if whole.readers.get(stage.id, set()) - inside]
