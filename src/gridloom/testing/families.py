"""What every family of arrays promises: the battery that builds an array, reads it back, unrolls, maps and draws it.

It is the counterpart of nextpnr's ``archcheck`` for code: :func:`gridloom.archs.check.check_arch`, which looks for what
is odd about one array, is a part of it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from gridloom import registry
from gridloom.archs.check import check_arch
from gridloom.archs.described.writing import describe
from gridloom.archs.model import Arch, Kind
from gridloom.archs.spec import build, build_spec
from gridloom.dfg.model import Dfg, DfgBuilder
from gridloom.dfg.ops import OP_TABLE
from gridloom.emit.picture.pictures import svg
from gridloom.errors import ArchError, OptionError
from gridloom.flow.inputs import read_arch
from gridloom.flow.request import Request
from gridloom.flow.run import run
from gridloom.search.choice import default_mapper
from gridloom.testing.promises import require

EFFORT = 20_000
SEED = 7
#: Op classes whose ops take values and give one.
_COMPUTES = ("alu", "mul", "div", "fp")


def check_family(arch: str | Path, *, odd: Collection[str] = (), effort: int = EFFORT, seed: int = SEED) -> None:
    """Check that the family of an array keeps every promise; AssertionError with the first that it breaks.

    ``arch`` is an ARCH string or a file. ``odd`` lists the findings of :func:`gridloom.archs.check.check_arch` that are
    meant. Costs one run of the default mapper for each op class of the array; an array that no mapper takes by default
    is not mapped to, nor is one that has fewer tiles than the smallest graph has nodes.
    """
    text = str(arch)
    found = read_arch(arch)
    check_resources(text, found)
    check_names(text, found)
    check_saved_form(text, found)
    findings = [finding for finding in check_arch(found) if finding not in odd]
    require(not findings, f"{text}: {'; '.join(findings)}")
    check_unrolls(text, found)
    check_picture(text, found)
    check_mapping(text, found, effort=effort, seed=seed)


def check_resources(text: str, arch: Arch) -> None:
    """Arcs, tiles, pools and files name resources and tiles that are there."""
    count, tiles = len(arch.resource_names), len(arch.tiles)
    require(
        len(arch.kind) == len(arch.tile) == len(arch.position) == count, f"{text}: tables of resources differ in length"
    )
    require(
        len(arch.arc_source) == len(arch.arc_target) == len(arch.arc_latency),
        f"{text}: tables of arcs differ in length",
    )
    for what, numbers in (("leaves", arch.arc_source), ("enters", arch.arc_target)):
        wrong = np.flatnonzero((numbers < 0) | (numbers >= count))
        require(not len(wrong), f"{text}: arc {wrong[:1]} {what} a resource that is not there")
    slow = np.flatnonzero(arch.arc_latency < 0)
    require(not len(slow), f"{text}: arc {slow[:1]} has a latency below 0")
    require(bool((arch.tile < tiles).all()), f"{text}: a resource belongs to a tile that is not there")
    require(
        bool(((arch.group >= 0) & (arch.group < count)).all()),
        f"{text}: a resource belongs to a group that is not there",
    )


def check_names(text: str, arch: Arch) -> None:
    """Names are unique, and a tile's resources begin with its name."""
    require(len(set(arch.resource_names)) == len(arch.resource_names), f"{text}: two resources have one name")
    require(len({tile.name for tile in arch.tiles}) == len(arch.tiles), f"{text}: two tiles have one name")
    for r, name in enumerate(arch.resource_names):
        owner = arch.tiles[arch.tile[r]].name if arch.tile[r] >= 0 else ""
        require(
            not owner or name.startswith((f"{owner}.", f"{owner}>")), f"{text}: resource {name} belongs to tile {owner}"
        )
        if arch.kind[r] == Kind.IN:
            require(
                name.endswith(f".in{arch.position[r]}"), f"{text}: {name} is operand {arch.position[r]} of its tile"
            )


def check_saved_form(text: str, arch: Arch) -> None:
    """The array is built again from its text, its specification, its description and its name."""
    _same(text, "its text", arch, read_arch(text))
    spec = json.loads(json.dumps(arch.spec))
    _same(text, "its specification", arch, _built(text, "its specification", spec))
    _same(
        text, "its own description", arch, _built(text, "its own description", json.loads(json.dumps(describe(arch))))
    )
    if not Path(text).suffix.isalpha() and not Path(text).exists():
        try:
            named = build(arch.name)
        except ArchError as error:
            raise AssertionError(f"{text}: its name {arch.name!r} is no ARCH: {error}") from error
        _same(text, f"its name {arch.name!r}", arch, named)


def _built(text: str, what: str, spec: dict[str, object]) -> Arch:
    try:
        return build_spec(spec, "array")
    except ArchError as error:
        raise AssertionError(f"{text}: {what} is refused: {error}") from error


def _same(text: str, what: str, arch: Arch, again: Arch) -> None:
    """Resources, arcs and tiles of two arrays are the same."""
    same = (
        arch.fingerprint == again.fingerprint
        and arch.resource_names == again.resource_names
        and arch.tiles == again.tiles
        and arch.traits == again.traits
        and all(
            np.array_equal(getattr(arch, table), getattr(again, table))
            for table in ("kind", "tile", "arc_source", "arc_target", "arc_latency")
        )
    )
    require(same, f"{text}: {what} builds another array")


def check_unrolls(text: str, arch: Arch) -> None:
    """It unrolls at a few IIs, every arc once in each slot, and refuses an II that its style does not have."""
    for ii in (1, 2, 3) if arch.style == "modulo" else (1,):
        graph = arch.unroll(ii)
        require(graph.nodes == ii * len(arch.kind), f"{text}: II {ii} has {graph.nodes} resources")
        require(len(graph.target) == ii * len(arch.arc_source), f"{text}: II {ii} has {len(graph.target)} arcs")
        ends = bool(((graph.target >= 0) & (graph.target < graph.nodes)).all())
        require(ends, f"{text}: at II {ii} an arc leads to a resource that is not there")
    if arch.style != "modulo":
        try:
            arch.unroll(2)
        except ArchError:
            return
        raise AssertionError(f"{text}: a {arch.style} array unrolls at II 2")


def check_picture(text: str, arch: Arch) -> None:
    """It is drawn as SVG."""
    drawn = svg(arch)
    try:
        root = ElementTree.fromstring(drawn)
    except ElementTree.ParseError as error:
        raise AssertionError(f"{text}: its picture is no XML: {error}") from error
    require(root.tag.endswith("svg"), f"{text}: its picture is <{root.tag}>")


def check_mapping(text: str, arch: Arch, *, effort: int = EFFORT, seed: int = SEED) -> None:
    """The default mapper maps a trivial graph of each op class that the array has, and the judges accept it."""
    try:
        mapper = default_mapper(arch)
    except OptionError:
        return
    for what, source in _problems(arch):
        placed = (
            [node for node in source.nodes if node.op not in ("const", "livein")] if isinstance(source, Dfg) else []
        )
        if arch.style == "static" and len(placed) > len(arch.tiles):
            continue
        result = run(Request(source=source, arch=arch, mapper=mapper, effort=effort, seed=seed))
        why = result.failure if result.failure is not None else "a judge refuses the mapping"
        require(result.status == "mapped", f"{text}: {mapper} does not map a graph with {what}: {why}")


def _problems(arch: Arch) -> Iterator[tuple[str, Dfg | str]]:
    """What is mapped, in words and as a source: a graph for each op class, or the problem of a kind without cycles."""
    if not arch.is_timed:
        for kind in registry.kinds().values():
            if kind.describes(arch) and kind.problem is not None:
                yield "every unit", kind.problem[0]
        return
    classes = frozenset().union(*(tile.classes for tile in arch.tiles))
    if {"input", "output"} <= classes | arch.free or "mem" in classes:
        for op_class in _COMPUTES:
            op = _op_of(arch, op_class) if op_class in classes else None
            if op is not None:
                yield f"op class {op_class}", _streams_through(op)
    if "mem" in classes and arch.has("memory_access"):
        yield "op class mem", _copy_word()


def _op_of(arch: Arch, op_class: str) -> str | None:
    """An op of a class that some tile runs, the simplest first; None where no tile runs any."""
    for op in sorted(OP_TABLE["i32"].values(), key=lambda op: (op.arity != 2, op.code)):
        if op.op_class == op_class and 1 <= op.arity <= 2:
            if any(tile.runs(op.name, frozenset({op_class})) and tile.operands >= op.arity for tile in arch.tiles):
                return op.name
    return None


def _streams_through(op: str) -> Dfg:
    """One op between streams."""
    b = DfgBuilder(f"one_{op}", "i32")
    operands = [b.input(f"x{k}") for k in range(OP_TABLE["i32"][op].arity)]
    b.output(b.add(op, *operands), "y")
    return b.build()


def _copy_word() -> Dfg:
    """A load and a store."""
    b = DfgBuilder("copy_word", "i32")
    b.array("A", 4)
    b.array("B", 4)
    b.store("B", b.const(1), b.load("A", b.const(2)))
    return b.build()
