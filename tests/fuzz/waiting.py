"""Random mappings on their hardware, with streams, outputs and memory that make it wait.

    python -m tests.fuzz.waiting --store waiting.jsonl

A run that is stopped goes on where it ended. Each line of the store is a mapping, named by its style and number: the
array, cycles that were simulated and what differs from the simulator. Ops are drawn from all that the op table has for
a node's class and not from the ten of the random graphs alone. Mappings of one array run on one compiled circuit, which
is large enough for all of them. At the end it prints how many multiplexer inputs and ops of each array's hardware the
mappings have used.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tests.hardware.coverage import Coverage, cover
from tests.random_cases import KEPT, candidates, loop_graph

from gridloom.archs import build
from gridloom.dfg.ops import OP_TABLE
from gridloom.flow.hardware import cosimulate_mapping
from gridloom.hardware.bitstream.encode import encode, fit_parameters
from gridloom.hardware.cosimulation import Bench
from gridloom.hardware.parameters import HardwareParameters
from gridloom.hardware.rtl.structure import Hardware
from gridloom.mapping import Mapping
from gridloom.mapping.configuration import configure
from gridloom.search.budget import Budget
from gridloom.targets.modulo.mappers.config import ModuloConfig
from gridloom.targets.modulo.mappers.modulo import modulo
from gridloom.verify import legal

#: How many mappings of each style there are among 500.
SHARES = {"static": 210, "modulo": 210, "engine": 30, "vpcma": 30, "links": 20}
#: Arrays on which a value crosses several links in a cycle, for style ``links``.
LINKS = ("hycube:3x3", "hycube:2x3,regs=3,hops=3")
ITERATIONS = 24


class Case(NamedTuple):
    """A mapping with the name that its line in the store has."""

    name: str
    number: int
    mapping: Mapping


def drawn(style: str) -> Iterator[Mapping]:
    """Random mappings of a style without end, whose arrays have wires and whose ops are any of their class."""
    for number, mapping in enumerate(several_links() if style == "links" else candidates(style)):
        # Level ``paper`` of the streaming engine has no limit on its links.
        if mapping.arch.spec.get("level") != "paper":
            yield other_ops(mapping, random.Random(f"ops {style} {number}"))


def several_links() -> Iterator[Mapping]:
    """Random loops on arrays whose values cross several links in a cycle."""
    for seed in range(100_000):
        graph = loop_graph(random.Random(f"links {seed}"))
        found = modulo(graph, build(LINKS[seed % len(LINKS)]), ModuloConfig(), Budget(seed=seed, effort=1500))
        if isinstance(found, Mapping):
            yield found


def other_ops(mapping: Mapping, rng: random.Random) -> Mapping:
    """The mapping with other ops of the same class and as many operands, where that is still legal.

    Addresses keep their ops: a load or a store has to stay inside its array.
    """
    dfg, table = mapping.dfg, OP_TABLE[mapping.dfg.domain]
    addresses = {edge.source for edge in dfg.edges if edge.operand == 0 and dfg.op_class(edge.target) == "mem"}
    nodes = []
    for node in dfg.nodes:
        row = table.get(node.op)
        if row is None or node.op in KEPT or row.op_class == "mem" or node.id in addresses or rng.random() < 0.25:
            nodes.append(node)
            continue
        alike = [op for op, other in table.items() if (other.op_class, other.arity) == (row.op_class, row.arity)]
        nodes.append(replace(node, op=rng.choice(alike)))
    changed = replace(mapping, dfg=replace(dfg, nodes=tuple(nodes)))
    return mapping if legal(changed) else changed


def cases(count: int) -> list[Case]:
    """So many mappings, of each style its share."""
    found: list[Case] = []
    for style, share in SHARES.items():
        for number, mapping in enumerate(islice(drawn(style), max(1, round(count * share / 500)))):
            found.append(Case(f"{style} {number}", number, mapping))
    return found


def by_array(chosen: list[Case]) -> dict[str, list[Case]]:
    """The cases of each array, by its fingerprint."""
    groups: dict[str, list[Case]] = {}
    for case in chosen:
        groups.setdefault(case.mapping.arch.fingerprint, []).append(case)
    return groups


def common_hardware(group: list[Case]) -> Hardware:
    """Hardware that is large enough for all mappings of an array."""
    arch = group[0].mapping.arch
    parameters = HardwareParameters(width=arch.word)
    for case in group:
        parameters = fit_parameters(configure(case.mapping), parameters)
    return Hardware(arch, parameters)


def stored(path: Path) -> dict[str, dict[str, Any]]:
    """The rows of a store by name. A line that was cut off when the run was stopped is left out."""
    found: dict[str, dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        found[row["name"]] = row
    return found


def run(chosen: list[Case], store: Path) -> tuple[list[dict[str, Any]], dict[str, Coverage]]:
    """The rows of all cases, those that the store lacks run now; and what they use of each array's hardware."""
    rows, covered = stored(store), {}
    for group in by_array(chosen).values():
        hardware = common_hardware(group)
        covered[hardware.arch.name] = cover(hardware, (encode(configure(c.mapping), hardware) for c in group))
        missing = [case for case in group if case.name not in rows]
        if not missing:
            continue
        with tempfile.TemporaryDirectory(prefix="waiting-") as folder:
            bench = Bench(hardware, folder=Path(folder))
            for case in missing:
                rows[case.name] = simulated(case, bench)
                with store.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(rows[case.name]) + "\n")
    return [rows[case.name] for case in chosen], covered


def simulated(case: Case, bench: Bench) -> dict[str, Any]:
    """What a run with waiting cycles has shown."""
    result = cosimulate_mapping(
        case.mapping, iterations=ITERATIONS, seed=case.number, bench=bench, stall=case.number + 1
    )
    ops = sorted({node.op for node in case.mapping.dfg.nodes})
    array = case.mapping.arch.name
    return {"name": case.name, "array": array, "ops": ops, "cycles": result.cycles, "wrong": list(result.findings[:5])}


def main() -> int:
    """Print what differs, coverage and a summary; the status is 1 where anything differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500, help="how many mappings")
    parser.add_argument("--store", type=Path, required=True, help="file of results, one line for each mapping")
    options = parser.parse_args()
    rows, covered = run(cases(options.count), options.store)
    wrong = [row for row in rows if row["wrong"]]
    for row in wrong:
        print(f"{row['name']} on {row['array']}: {row['wrong']}")
    for array, coverage in covered.items():
        print(f"{array}: {coverage}")
    used = {op for row in rows for op in row["ops"]}
    print(f"{len(rows)} mappings, {sum(row['cycles'] for row in rows)} cycles, {len(used)} ops, {len(wrong)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
