"""Memory banks in an exact model: which array lies where is decided together with everything else.

A refutation therefore holds for every choice of banks.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from gridloom.targets.modulo.mappers.banks import accessed_array
from gridloom.targets.modulo.mappers.problem import WORD_BYTES, ModuloProblem

#: (array, bank) -> variable.
BankTable = dict[tuple[str, int], Any]


def add_banks(model: Any, problem: ModuloProblem, issues: list[list[tuple[int, int, Any]]], ii: int) -> BankTable:
    """Add a bank for each array, the reach of its accesses and the ports; return the variables, none without banks.

    ``issues`` are (tile, cycle, variable) of each node. Linear in them times the banks.
    """
    dfg, banks = problem.dfg, problem.arch.banks
    if not banks:
        return {}
    accessed = [accessed_array(dfg, k) for k in problem.nodes]
    size = {array.name: array.length * WORD_BYTES for array in dfg.arrays}
    chosen: BankTable = {}
    for array in sorted({*size, *(name for name in accessed if name is not None)}):
        row = {(array, b): model.new_bool_var("") for b in range(len(banks))}
        model.add_exactly_one(row.values())
        chosen |= row
    for b, bank in enumerate(banks):
        if bank.size is not None:
            model.add(sum(size[array] * chosen[array, b] for array in size) <= bank.size)
    started: dict[tuple[int, int], list[Any]] = defaultdict(list)
    for n, name in ((n, name) for n, name in enumerate(accessed) if name is not None):
        for tile, cycle, literal in issues[n]:
            reached = [b for b, bank in enumerate(banks) if tile in bank.tiles]
            model.add_bool_or([literal.negated(), *(chosen[name, b] for b in reached)])
            # The data half of a pair takes no port.
            if dfg.op_class(dfg.nodes[problem.nodes[n]].id) == "mem":
                for b in reached:
                    use = model.new_bool_var("")
                    model.add_bool_or([literal.negated(), chosen[name, b].negated(), use])
                    started[b, cycle % ii].append(use)
    for (b, _), users in started.items():
        if len(users) > banks[b].ports:
            model.add(sum(users) <= banks[b].ports)
    return chosen
