"""Which array of the program lies in which memory bank: the fewest cycles per iteration that the ports allow.

A bank needs ceil(accesses / ports) cycles per iteration, and its tiles start one access each per cycle. Where arrays
and banks are few, all choices are compared, so that no choice allows a lower bound; else arrays are taken by their
number of accesses, the largest first, and each goes to the bank that it loads least.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product

from gridloom.archs.model import Arch, Bank
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.mapping.model import Failure

_WORD_BYTES = 4
# Choices that are compared one by one.
_MOST_CHOICES = 20_000


@dataclass(frozen=True, kw_only=True)
class BankChoice:
    """The bank of each array, or why there is none."""

    #: Array -> index of its bank.
    bank_of: Mapping[str, int]
    #: True when no other choice allows a lower bound.
    best: bool = True
    failure: Failure | None = None

    def names(self, arch: Arch) -> dict[str, str]:
        """Array -> name of its bank, as a mapping's settings say it."""
        return {array: arch.banks[bank].name for array, bank in self.bank_of.items()}


def accessed_array(dfg: Dfg, position: int) -> str | None:
    """The array that a graph node accesses, empty where it names none; None for a node that is no access."""
    node = dfg.nodes[position]
    return (node.array or "") if dfg.op_class(node.id) in ("mem", "mem_data") else None


def given_banks(text: str) -> dict[str, str]:
    """The banks that a setting gives to arrays: ``x:left+y:right``; OptionError for another form.

    >>> given_banks("x:left+y:right")
    {'x': 'left', 'y': 'right'}
    """
    banks: dict[str, str] = {}
    for part in text.split("+") if text else []:
        array, colon, bank = part.partition(":")
        if not colon or not bank:
            raise OptionError(f"banks: expected ARRAY:BANK, joined by '+', found {part!r}")
        banks[array] = bank
    return banks


def choose_banks(dfg: Dfg, arch: Arch, given: Mapping[str, str], pinned: Mapping[int, int] | None = None) -> BankChoice:
    """The bank of each array: as given, or the choice with the lowest bound on the II.

    ``pinned`` are tiles by graph position: an array whose access sits on one lies in a bank that the tile reaches.
    OptionError where arrays or banks are named that there are not.
    """
    if not arch.banks:
        if given:
            raise OptionError(f"banks: array {arch.name!r} has no banks")
        return BankChoice(bank_of={})
    count = Counter({array.name: 0 for array in dfg.arrays})
    for k in range(len(dfg.nodes)):
        name = accessed_array(dfg, k)
        if name is not None:
            count[name] += dfg.op_class(dfg.nodes[k].id) == "mem"
    fixed = _given(arch, count, given)
    options = _options(dfg, arch, pinned or {}, fixed)
    if isinstance(options, Failure):
        return BankChoice(bank_of={}, failure=options)
    size = {array.name: array.length * _WORD_BYTES for array in dfg.arrays}
    free = sorted(
        (name for name in count if name not in fixed), key=lambda name: (-count[name], -size.get(name, 0), name)
    )
    everywhere = range(len(arch.banks))
    if len(arch.banks) ** len(free) <= _MOST_CHOICES:
        rows = [options.get(name, everywhere) for name in free]
        choices = (fixed | dict(zip(free, chosen)) for chosen in product(*rows))
        fitting = [choice for choice in choices if _fits(choice, size, arch)]
        if fitting:
            return BankChoice(bank_of=min(fitting, key=lambda choice: _load(choice, count, arch)))
    else:
        chosen = _greedy(fixed, {name: options.get(name, everywhere) for name in free}, count, size, arch)
        if chosen is not None:
            return BankChoice(bank_of=chosen, best=False)
    return BankChoice(bank_of={}, failure=_too_large(count, size, arch))


def bank_bounds(dfg: Dfg, arch: Arch, choice: BankChoice) -> list[tuple[int, str]]:
    """For each bank the II that its accesses need, and why; nothing on arrays without banks."""
    if not arch.banks:
        return []
    names: dict[int, list[str]] = {}
    for k in range(len(dfg.nodes)):
        array = accessed_array(dfg, k)
        if array is not None and dfg.op_class(dfg.nodes[k].id) == "mem":
            names.setdefault(choice.bank_of[array], []).append(array)
    bounds = []
    for bank, arrays in sorted(names.items()):
        record = arch.banks[bank]
        room = _room(record)
        which = ", ".join(sorted(set(arrays)))
        text = f"bank {record.name!r} starts {len(arrays)} accesses ({which}) at {room} per cycle"
        bounds.append((-(-len(arrays) // room), text))
    return bounds


def _given(arch: Arch, count: Mapping[str, int], given: Mapping[str, str]) -> dict[str, int]:
    """The banks that the user gave, by index."""
    names = [bank.name for bank in arch.banks]
    for array, bank in given.items():
        if array not in count:
            raise OptionError(f"banks: the graph has no array {array!r}; it has: {', '.join(sorted(count))}")
        if bank not in names:
            raise OptionError(f"banks: array {arch.name!r} has no bank {bank!r}; it has: {', '.join(names)}")
    return {array: names.index(bank) for array, bank in given.items()}


def _room(bank: Bank) -> int:
    """The accesses that a bank starts per cycle: by its ports, and by the tiles that reach it."""
    return max(1, min(bank.ports, len(bank.tiles)))


def _fits(choice: Mapping[str, int], size: Mapping[str, int], arch: Arch) -> bool:
    """True when every bank has room for its arrays."""
    taken: Counter[int] = Counter()
    for array, bank in choice.items():
        taken[bank] += size.get(array, 0)
    limits = [bank.size for bank in arch.banks]
    return all(limits[bank] is None or number <= (limits[bank] or 0) for bank, number in taken.items())


def _load(choice: Mapping[str, int], count: Mapping[str, int], arch: Arch) -> tuple[int, list[float]]:
    """The bound on the II that a choice gives, and then how evenly the banks are loaded."""
    load = [0] * len(arch.banks)
    for array, bank in choice.items():
        load[bank] += count[array]
    shares = [number / _room(bank) for number, bank in zip(load, arch.banks, strict=True)]
    return max(-(-number // _room(bank)) for number, bank in zip(load, arch.banks, strict=True)), sorted(
        shares, reverse=True
    )


def _options(
    dfg: Dfg, arch: Arch, pinned: Mapping[int, int], fixed: Mapping[str, int]
) -> dict[str, list[int]] | Failure:
    """The banks in which arrays may lie whose accesses are pinned; the failure of the first pin that leaves none."""
    options: dict[str, list[int]] = {}
    for position, tile in pinned.items():
        array = accessed_array(dfg, position)
        if array is None:
            continue
        before = [fixed[array]] if array in fixed else options.get(array, list(range(len(arch.banks))))
        options[array] = [bank for bank in before if tile in arch.banks[bank].tiles]
        if not options[array]:
            return _unreached(dfg, arch, position, tile, before)
    return options


def _unreached(dfg: Dfg, arch: Arch, position: int, tile: int, wanted: list[int]) -> Failure:
    """The failure of an access that is pinned to a tile which does not reach the bank of its array."""
    node, record = dfg.nodes[position], arch.tiles[tile]
    names = " or ".join(f"bank {arch.banks[bank].name!r}" for bank in wanted)
    reached = [bank.name for bank in arch.banks if tile in bank.tiles]
    return Failure(
        constraint=f"node {node.id!r} on tile {record.name!r}",
        demand=f"{names}, where array {node.array or ''!r} lies",
        bound=f"the tile reaches {', '.join(map(repr, reached)) or 'no bank'}",
        levers=("another tile", "another bank for the array (--set banks=ARRAY:BANK)"),
    )


def _greedy(
    fixed: Mapping[str, int],
    free: Mapping[str, Iterable[int]],
    count: Mapping[str, int],
    size: Mapping[str, int],
    arch: Arch,
) -> dict[str, int] | None:
    """Each array in turn to the bank that it loads least, among those with room; None where one finds none."""
    chosen = dict(fixed)
    for array, banks in free.items():
        options = [chosen | {array: bank} for bank in banks]
        fitting = [option for option in options if _fits(option, size, arch)]
        if not fitting:
            return None
        chosen = min(fitting, key=lambda option: _load(option, count, arch))
    return chosen


def _too_large(count: Mapping[str, int], size: Mapping[str, int], arch: Arch) -> Failure:
    """The failure when no choice has room for all arrays."""
    sizes = ", ".join(f"{name} {size.get(name, 0)}" for name in sorted(count))
    rooms = ", ".join(f"{bank.name} {'no limit' if bank.size is None else bank.size}" for bank in arch.banks)
    return Failure(
        constraint="sizes of the memory banks",
        demand=f"bytes for {sizes}",
        bound=f"bytes in {rooms}",
        levers=("larger banks", "smaller arrays"),
    )
