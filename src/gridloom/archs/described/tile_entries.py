"""Entries about tiles: their ops, latencies, occupancies, registers and FIFOs. Later entries refine earlier ones.

An entry without ``where`` is about all tiles. What an entry does not name stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gridloom.archs.described.draft import COMPUTES, MEMORY, PORTS, ArrayDraft, TileDraft
from gridloom.archs.described.keys import count_at, entries_at, flag_at, join_keys, mapping_at, number_at, suggestion
from gridloom.archs.described.places import places
from gridloom.dfg.ops import OP_TABLE
from gridloom.errors import ArchError

#: Words for several op classes at once.
GROUPS: Final = {"memory": MEMORY, "io": PORTS, "compute": COMPUTES}
CLASSES: Final = (*COMPUTES, *MEMORY, *PORTS)
MAX_CYCLES: Final = 1024
MAX_FIFO: Final = 1 << 20
#: Keys of a register file that say how many values are read from it and written to it in one cycle.
PORT_COUNTS: Final = ("reads", "writes")
#: Integer ops that a tile may have one by one, with their op class, and the ops of each such class.
OPS: Final = {
    name: op.op_class for name, op in OP_TABLE["i32"].items() if op.op_class in ("alu", "mul", "div") and name != "move"
}
MEMBERS: Final = {kind: tuple(name for name, owner in OPS.items() if owner == kind) for kind in ("alu", "mul", "div")}


def refine_tiles(draft: ArrayDraft, value: Any, key: str) -> None:
    """Change the tiles of a draft as a list of entries says, one after another."""
    for at, entry in entries_at(value, key):
        data = mapping_at(entry, ("where", *_READERS), at, "a tile")
        chosen = places(data.pop("where", "all"), draft.rows, draft.cols, join_keys(at, "where"))
        for name, part in data.items():
            for cell in chosen:
                _READERS[name](draft, draft.tiles[cell], part, join_keys(at, name))


def _ops(draft: ArrayDraft, tile: TileDraft, value: Any, key: str) -> None:
    """Set what a tile runs, as op classes and single ops, or add some to it, or remove some."""
    if not isinstance(value, dict):
        tile.classes, tile.lacks = set(), set()
        _add(tile, _names(value, key))
        return
    data = mapping_at(value, ("add", "remove"), key, "ops")
    added = _names(data.get("add", []), join_keys(key, "add"))
    removed = _names(data.get("remove", []), join_keys(key, "remove"))
    both = sorted(set(added) & set(removed))
    if both:
        raise ArchError(f"{key}: {both[0]!r} is both added and removed; leave one of them out")
    _add(tile, added)
    for name in removed:
        _remove(tile, name)


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


def _names(value: Any, key: str) -> list[str]:
    """Return the op classes and ops that a list of names stands for; a name that both have is that of the class."""
    found: list[str] = []
    for at, name in entries_at(value, key):
        if not isinstance(name, str) or name not in (*CLASSES, *GROUPS, *OPS):
            raise ArchError(
                f"{at}: no op or op class is called {name!r}; {suggestion(name, [*CLASSES, *GROUPS, *OPS])}"
            )
        found += GROUPS.get(name, (name,))
    return found


def _latency(draft: ArrayDraft, tile: TileDraft, value: Any, key: str) -> None:
    """Set the cycles from issue to result: one number for all op classes, or some by op class."""
    tile.latency = _cycles(tile.latency, value, key)


def _occupancy(draft: ArrayDraft, tile: TileDraft, value: Any, key: str) -> None:
    """Set the cycles for which an op keeps the function unit: one number for all op classes, or some by op class."""
    if isinstance(value, dict) and "route" in value:
        raise ArchError(f"{key}.route: a move takes the function unit for one cycle; leave it out")
    tile.occupancy = _cycles(tile.occupancy, value, key)


def _cycles(before: dict[str, int], value: Any, key: str) -> dict[str, int]:
    """Return numbers of cycles by op class, changed as a description says; ``"*"`` is the rest, and sets all anew."""
    if not isinstance(value, dict):
        return {"*": number_at(value, key, 1, MAX_CYCLES)}
    after = {} if "*" in value else dict(before)
    for name, number in value.items():
        at = join_keys(key, name)
        known = ("*", "route", *CLASSES, *GROUPS)
        if name not in known:
            raise ArchError(f"{at}: no op class is called {name!r}; {suggestion(name, known)}")
        after |= dict.fromkeys(GROUPS.get(name, (name,)), number_at(number, at, 1, MAX_CYCLES))
    return after


def _operands(draft: ArrayDraft, tile: TileDraft, value: Any, key: str) -> None:
    """Set how many operands the function unit has."""
    tile.operands = number_at(value, key, 1, 8)


def _fifo(draft: ArrayDraft, tile: TileDraft, value: Any, key: str) -> None:
    """Set how many cycles an operand may wait in its FIFO: one number for all operands, or a list with one for each."""
    if draft.style != "static":
        raise ArchError(f"{key}: operands wait in FIFOs on static arrays only; here values wait in registers")
    if not isinstance(value, list):
        tile.fifo, tile.fifos = count_at(value, key, 0, MAX_FIFO, none="no limit"), ()
        return
    if not 1 <= len(value) <= 8:
        raise ArchError(f"{key}: expected a number, or a list with one for each operand, found {value!r}")
    tile.fifos = tuple(count_at(depth, at, 0, MAX_FIFO, none="no limit") for at, depth in entries_at(value, key))


def _registers(draft: ArrayDraft, tile: TileDraft, value: Any, key: str) -> None:
    """Set the registers of a tile's own file: how many, and how many of them rotate."""
    _modulo_only(draft, key, "registers")
    if not isinstance(value, dict):
        tile.registers = number_at(value, key, 0, 1024)
        return
    data = mapping_at(value, ("count", "rotating", *PORT_COUNTS), key, "registers")
    if "count" in data:
        tile.registers = number_at(data["count"], join_keys(key, "count"), 0, 1024)
    if "rotating" in data:
        tile.rotating = rotating_at(data["rotating"], join_keys(key, "rotating"))
    for name in PORT_COUNTS:
        if name in data:
            setattr(tile, name, ports_at(data[name], join_keys(key, name)))


def ports_at(value: Any, key: str) -> int | None:
    """Return how many ports a register file has for reading or for writing; None: as many as are needed."""
    return count_at(value, key, 1, 64, none="no limit")


def rotating_at(value: Any, key: str) -> int | None:
    """Return how many registers rotate; None for ``free``: the mapping chooses."""
    if value == "free":
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 1024:
        raise ArchError(f"{key}: expected 'free' or a whole number from 0 to 1024, found {value!r}")
    return value


def _hold(draft: ArrayDraft, tile: TileDraft, value: Any, key: str) -> None:
    """Set how long an output register keeps its value."""
    _modulo_only(draft, key, "output registers that hold")
    if value not in ("until-write", "next"):
        raise ArchError(f"{key}: expected 'until-write' or 'next', found {value!r}")
    tile.holds = value == "until-write"


def _moves(draft: ArrayDraft, tile: TileDraft, value: Any, key: str) -> None:
    """Set whether values can pass through the function unit."""
    _modulo_only(draft, key, "moves through function units")
    tile.moves = flag_at(value, key)


def _contexts(draft: ArrayDraft, tile: TileDraft, value: Any, key: str) -> None:
    """Set how many slots the context memory has."""
    _modulo_only(draft, key, "more than one context")
    tile.contexts = count_at(value, key, 1, 1 << 20, none="no limit")


def _constants(draft: ArrayDraft, tile: TileDraft, value: Any, key: str) -> None:
    """Set how many words the constant store has."""
    tile.constants = count_at(value, key, 0, 4096, none="no limit")


def _modulo_only(draft: ArrayDraft, key: str, what: str) -> None:
    """Raise ArchError on a static array, which does not have what the key is about."""
    if draft.style != "modulo":
        raise ArchError(f"{key}: a static array has no {what}; leave it out, or write style: modulo")


_READERS: Final[dict[str, Callable[[ArrayDraft, TileDraft, Any, str], None]]] = {
    "ops": _ops,
    "latency": _latency,
    "occupancy": _occupancy,
    "operands": _operands,
    "fifo": _fifo,
    "registers": _registers,
    "hold": _hold,
    "moves": _moves,
    "contexts": _contexts,
    "constants": _constants,
}
