"""Entries about tiles: their ops, latencies, occupancies, registers and FIFOs. Later entries refine earlier ones.

An entry without ``where`` is about all tiles. What an entry does not name stays as it is.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, model_validator

from gridloom.archs.described.draft import COMPUTES, MEMORY, PORTS, ArrayDraft, TileDraft
from gridloom.archs.described.keys import (
    NO_LIMIT,
    UNSET,
    Choice,
    Clause,
    Expected,
    Flag,
    OneOf,
    Several,
    Short,
    Whole,
    modulo_only,
    refuse,
)
from gridloom.archs.described.places import ALL, Places
from gridloom.dfg.ops import OP_TABLE

#: Words for several op classes at once.
GROUPS: Final = {"memory": MEMORY, "io": PORTS, "compute": COMPUTES}
CLASSES: Final = (*COMPUTES, *MEMORY, *PORTS)
MAX_CYCLES: Final = 1024
MAX_FIFO: Final = 1 << 20
#: Integer ops that a tile may have one by one, with their op class, and the ops of each such class.
OPS: Final = {
    name: op.op_class for name, op in OP_TABLE["i32"].items() if op.op_class in ("alu", "mul", "div") and name != "move"
}
MEMBERS: Final = {kind: tuple(name for name, owner in OPS.items() if owner == kind) for kind in ("alu", "mul", "div")}

OpName = Annotated[str, OneOf((*CLASSES, *GROUPS, *OPS), "no op or op class is called {}")]
ClassName = Annotated[str, OneOf(("*", "route", *CLASSES, *GROUPS), "no op class is called {}")]
Names = Annotated[
    Several[OpName], AfterValidator(lambda names: [name for word in names for name in GROUPS.get(word, (word,))])
]
Count = Annotated[int, Whole(1, MAX_CYCLES)]
Cycles = Annotated[dict[ClassName, Count], Short("*")]
_LISTED: Final = Choice(lambda depths: isinstance(depths, list))
Depth = Annotated[int | None, Whole(0, MAX_FIFO, NO_LIMIT)]
#: Read or write ports of a register file; None: as many as are needed.
Ports = Annotated[int | None, Whole(1, 64, NO_LIMIT)]
#: How many registers of a file rotate; None for ``free``: the mapping chooses.
Rotating = Annotated[
    Literal["free"] | Annotated[int, Whole(0, 1024)],
    Expected("'free' or a whole number from 0 to 1024"),
    AfterValidator(lambda value: None if value == "free" else value),
]


def _without(what: str) -> BeforeValidator:
    """Return the validator that refuses on a static array what it does not have."""
    return modulo_only(f"a static array has no {what}; leave it out, or write style: modulo")


def _check_occupancy(value: Any) -> Any:
    """Refuse cycles of a move."""
    if isinstance(value, dict) and "route" in value:
        raise refuse("a move takes the function unit for one cycle; leave it out", "route")
    return value


def _check_fifo(value: Any, info: Any) -> Any:
    """Refuse FIFOs where values wait in registers, and lists that no unit has operands for."""
    if info.context.style != "static":
        raise refuse("operands wait in FIFOs on static arrays only; here values wait in registers")
    if isinstance(value, list) and not 1 <= len(value) <= 8:
        raise refuse(f"expected a number, or a list with one for each operand, found {value!r}")
    return value


class OpsEntry(Clause, what="ops"):
    """What a tile runs beside what it ran, and what it does not run any more."""

    add: Names = []
    remove: Names = []

    @model_validator(mode="after")
    def _check_sides(self) -> OpsEntry:
        """Refuse what is on both sides."""
        both = sorted(set(self.add) & set(self.remove))
        if both:
            raise refuse(f"{both[0]!r} is both added and removed; leave one of them out")
        return self


class RegistersEntry(Clause, what="registers"):
    """A tile's own register file."""

    count: Annotated[int, Whole(0, 1024)] = UNSET
    rotating: Rotating = UNSET
    reads: Ports = None
    writes: Ports = None


class TileEntry(Clause, what="a tile"):
    """What a description says of some tiles."""

    where: Places = ALL
    ops: Annotated[OpsEntry | Names, Choice(lambda ops: isinstance(ops, dict))] = UNSET
    latency: Cycles = UNSET
    occupancy: Annotated[Cycles, BeforeValidator(_check_occupancy)] = UNSET
    operands: Annotated[int, Whole(1, 8)] = UNSET
    fifo: Annotated[list[Depth] | Depth, _LISTED, BeforeValidator(_check_fifo)] = UNSET
    registers: Annotated[RegistersEntry, Short("count"), _without("registers")] = UNSET
    hold: Annotated[
        Literal["until-write", "next"], Expected("'until-write' or 'next'"), _without("output registers that hold")
    ] = UNSET
    moves: Annotated[Flag, _without("moves through function units")] = UNSET
    contexts: Annotated[int | None, Whole(1, 1 << 20, NO_LIMIT), _without("more than one context")] = None
    constants: Annotated[int | None, Whole(0, 4096, NO_LIMIT)] = None


def refine_tiles(draft: ArrayDraft, entries: list[TileEntry]) -> None:
    """Change the tiles of a draft as entries say, one after another."""
    for entry in entries:
        for tile in [draft.tiles[cell] for cell in entry.where]:
            for name, value in entry.given().items():
                _refine(tile, name, value)


def _refine(tile: TileDraft, name: str, value: Any) -> None:
    """Change a tile as one key of an entry says."""
    if name == "ops":
        _change_ops(tile, value)
    elif name in ("latency", "occupancy"):
        setattr(tile, name, _change_cycles(getattr(tile, name), value))
    elif name == "registers":
        for part, number in value.given().items():
            setattr(tile, "registers" if part == "count" else part, number)
    elif name != "where":
        setattr(tile, name, value)


def _change_ops(tile: TileDraft, ops: OpsEntry | list[str]) -> None:
    """Set what a tile runs, as op classes and single ops, or add some to it, or remove some."""
    if not isinstance(ops, OpsEntry):
        tile.classes, tile.lacks = set(), set()
        ops = OpsEntry.model_construct(add=ops)
    _add(tile, ops.add)
    for name in ops.remove:
        _remove(tile, name)


def _change_cycles(before: dict[str, int], change: dict[str, int]) -> dict[str, int]:
    """Return numbers of cycles by op class, changed as an entry says; ``"*"`` is the rest, and sets all anew."""
    after = {} if "*" in change else dict(before)
    for name, number in change.items():
        after |= dict.fromkeys(GROUPS.get(name, (name,)), number)
    return after


def _remove(tile: TileDraft, name: str) -> None:
    """Remove an op class or a single op; a class of which nothing is left is not there any more."""
    op_class = name if name in CLASSES else OPS[name]
    members = set(MEMBERS.get(op_class, ()))
    if name not in CLASSES and op_class in tile.classes:
        tile.lacks.add(name)
    if name in CLASSES or tile.lacks >= members:
        tile.classes.discard(op_class)
        tile.lacks -= members


def _add(tile: TileDraft, names: list[str]) -> None:
    """Add op classes and single ops; of a class that comes with a single op, the tile lacks the others."""
    for name in names:
        if name in CLASSES:
            tile.classes.add(name)
            tile.lacks -= set(MEMBERS.get(name, ()))
            continue
        if OPS[name] not in tile.classes:
            tile.classes.add(OPS[name])
            tile.lacks |= set(MEMBERS[OPS[name]])
        tile.lacks.discard(name)
