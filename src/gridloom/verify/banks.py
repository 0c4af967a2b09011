"""Memory banks: each array of the program lies in one bank, and a bank starts only so many accesses per slot.

The mapping says where arrays lie (``settings["banks"]``). A load or a store runs on a tile that reaches the bank of its
array. Accesses that name no array, as in published graphs, share the bank of the empty name.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridloom.archs.model import Bank
from gridloom.verify.memory import WORD_BYTES
from gridloom.verify.subject import PlacedInstance, Subject
from gridloom.verify.violation import Violation


def check_banks(subject: Subject) -> Iterator[Violation]:
    """Every array has a bank that it fits into, and accesses reach it without exceeding its ports in any slot."""
    if not subject.arch.banks or subject.graph is None:
        return
    chosen: dict[str, str] = subject.graph.settings.get("banks", {})
    banks = {bank.name: bank for bank in subject.arch.banks}
    yield from _check_arrays(subject, chosen, banks)
    accesses: dict[str, list[PlacedInstance]] = {}
    for placed in subject.on_tiles():
        if placed.op_class in ("mem", "mem_data") and not placed.timeless:
            name = chosen.get(placed.node.array or "")
            if name is None:
                yield Violation("bank", placed.name, f"no bank for array {placed.node.array or ''!r}", "a bank")
                continue
            accesses.setdefault(name, []).append(placed)
    for name, members in sorted(accesses.items()):
        yield from _check_reach(subject, banks[name], members)
        yield from _check_ports(subject, banks[name], members)


def _check_arrays(subject: Subject, chosen: dict[str, str], banks: dict[str, Bank]) -> Iterator[Violation]:
    """The arrays of the graph fit into the banks in which they lie."""
    words: dict[str, int] = {}
    for array in subject.dfg.arrays:
        if array.name in chosen:
            words[chosen[array.name]] = words.get(chosen[array.name], 0) + array.length
    for name, count in sorted(words.items()):
        size = banks[name].size
        if size is not None and WORD_BYTES * count > size:
            yield Violation("bank-size", f"bank {name}", f"{WORD_BYTES * count} bytes of arrays", f"{size} bytes")


def _check_reach(subject: Subject, bank: Bank, members: list[PlacedInstance]) -> Iterator[Violation]:
    """Accesses to a bank run on tiles that reach it."""
    for placed in members:
        if placed.tile not in bank.tiles:
            tile = subject.arch.tiles[placed.tile].name
            yield Violation(
                "bank", f"{placed.name} on {tile}", f"an access to bank {bank.name}", "a tile that reaches it"
            )


def _check_ports(subject: Subject, bank: Bank, members: list[PlacedInstance]) -> Iterator[Violation]:
    """No slot starts more accesses in a bank than it has ports; the data half of a pair takes none."""
    slots: dict[int, list[str]] = {}
    for placed in members:
        if placed.op_class == "mem":
            slots.setdefault(placed.cycle % subject.ii, []).append(placed.name)
    for slot, names in sorted(slots.items()):
        if len(names) > bank.ports:
            found = f"{len(names)} accesses ({', '.join(sorted(names))})"
            yield Violation("bank-ports", f"bank {bank.name} in slot {slot}", found, f"{bank.ports}")
