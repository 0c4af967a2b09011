"""``gridloom cosim`` runs saved mappings on the hardware of their array and compares each with the simulator.

All mappings on one array share one build of its hardware, which is large enough for each of them. ``gridloom rtl
--cosim`` runs a mapping on the very hardware that it writes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gridloom.cli.options import AsJson, Quiet, Seed, VerilogSimulator
from gridloom.cli.progress import note

if TYPE_CHECKING:
    from gridloom.mapping.model import Mapping


def cosim(
    *,
    mappings: Annotated[list[Path], typer.Argument(metavar="MAPPING", help="Saved mappings.")],
    simulator: VerilogSimulator = None,
    iterations: Annotated[int, typer.Option(min=1, metavar="N", help="Iterations of the longest run.")] = 32,
    stall: Annotated[
        int, typer.Option(min=0, metavar="SEED", help="Stop streams and memory in random cycles; 0: never.")
    ] = 0,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Run mappings on the hardware of their array and compare each with the simulator.

    The simulator is Verilator where it is installed, otherwise Icarus Verilog. Streams, memories and live-ins are
    random. The exit status is 1 when a mapping is refused or differs.
    """
    from gridloom.flow.files import load_mapping

    rows = []
    for row in _runs({str(path): load_mapping(path) for path in mappings}, simulator, iterations, seed, stall):
        rows.append(row)
        if not as_json:
            print(_describe(row), flush=True)
    wrong = sum(row["status"] != "agrees" for row in rows)
    print(json.dumps({"mappings": rows, "wrong": wrong}) if as_json else f"{len(rows) - wrong} of {len(rows)} agree")
    return int(bool(wrong))


def _runs(
    mappings: dict[str, Mapping], simulator: str | None, iterations: int, seed: int, stall: int
) -> Iterator[dict[str, Any]]:
    """Co-simulate the mappings, array by array; yields a row for each."""
    from gridloom.flow.confirmation import find_faults
    from gridloom.flow.hardware import cosimulate_mapping, shared_parameters
    from gridloom.hardware.cosimulation import Bench, fastest_simulator, parse_simulator
    from gridloom.hardware.rtl.structure import Hardware

    chosen = fastest_simulator() if simulator is None else parse_simulator(simulator)
    arrays: dict[str, dict[str, Mapping]] = {}
    for name, mapping in mappings.items():
        if faults := find_faults(mapping):
            yield {"mapping": name, "array": mapping.arch.name, "status": "refused", "findings": faults}
        else:
            arrays.setdefault(mapping.arch.fingerprint, {})[name] = mapping
    for group in arrays.values():
        arch = next(iter(group.values())).arch
        note(f"building the hardware of {arch.name} for {chosen}")
        bench = Bench(Hardware(arch, shared_parameters(list(group.values()))), simulator=chosen)
        for name, mapping in group.items():
            begun = time.perf_counter()
            outcome = cosimulate_mapping(mapping, iterations=iterations, seed=seed, bench=bench, stall=stall)
            yield {
                "mapping": name, "array": arch.name, "status": "differs" if outcome.findings else "agrees",
                "findings": list(outcome.findings), "cycles": outcome.cycles,
                "seconds": round(time.perf_counter() - begun, 3),
            }  # fmt: skip


def _describe(row: dict[str, Any]) -> str:
    """A row as a line, with the findings below it."""
    head = f"{row['mapping']} on {row['array']}: {row['status']}"
    if "cycles" in row:
        head += f", {row['cycles']} cycles in {row['seconds']:.2f} s"
    findings = row["findings"]
    rest = [f"  ... {len(findings) - 5} more"] if len(findings) > 5 else []
    return "\n".join([head, *(f"  {text}" for text in findings[:5]), *rest])
