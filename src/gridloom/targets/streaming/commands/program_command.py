"""``gridloom program`` maps several flows with channels between them onto one streaming engine.

The YAML file names flows (a source and a number of iterations each) and channels between them. Each flow gets tiles
of its own, in proportion to its ops where the file does not name them; the result is simulated with messages of
random length. The work is in :mod:`gridloom.targets.streaming.program.run`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gridloom.cli.completion import offer_names
from gridloom.cli.options import AsJson, Effort, Mapper, Named, Quiet, Seed, SpokeRam, TimeLimit
from gridloom.cli.outputs import check_writable, write_and_tell

if TYPE_CHECKING:
    from gridloom.targets.streaming.program.model import Program
    from gridloom.targets.streaming.program.run import ProgramResult


def program(
    *,
    source: Annotated[Path, typer.Argument(metavar="PROGRAM", help="A YAML file with flows and channels.")],
    arch: Annotated[
        str,
        typer.Option(
            "--arch",
            metavar="ARCH",
            help="The array, a streaming engine: streaming-engine:16,spokes=6.",
            autocompletion=offer_names("archs"),
        ),
    ],
    sources: Named = None,
    mapper: Mapper = "auto",
    seed: Seed = 0,
    time_limit: TimeLimit = None,
    effort: Effort = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the mapped program to this JSON file.")
    ] = None,
    spokes: SpokeRam = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Map the flows of a program, each onto tiles of its own, check them, and run them together.

    --effort and --time-limit hold for the search of each flow. The run uses messages of random length.
    """
    from gridloom.flow.request import Request
    from gridloom.targets.streaming.program.model import dumps
    from gridloom.targets.streaming.program.run import map_program, read_program

    check_writable([("--output", output), ("--spoke-ram", spokes)])
    if time_limit is None and effort is None:
        effort = 200_000
    read = read_program(source, arch, sources or ())
    request = Request(source="", arch=arch, mapper=mapper, seed=seed, time_limit=time_limit, effort=effort)
    result = map_program(read, request)
    if result.program is not None:
        texts = {} if output is None else {output: dumps(result.program)}
        if spokes is not None:
            texts[spokes] = _spokes(result.program)
        write_and_tell(texts)
    print(json.dumps(result.to_json()) if as_json else _text(result))
    return 0 if result.program is not None else 1


def _spokes(mapped: Program) -> str:
    """The spoke RAM of the tiles of each flow: each tile has as many entries as the flow's II.

    A mapping of one flow covers the whole array; entries of tiles that are other flows' are left out.
    """
    from gridloom.targets.streaming.spoke_ram import spoke_ram

    found = {}
    for flow in mapped.flows:
        own = {tile.name for tile in mapped.arch.tiles[flow.base : flow.base + flow.tiles]}
        rows = [entry.to_dict() for entry in spoke_ram(flow.mapping) if entry.tile in own]
        found[flow.name] = {"base": mapped.arch.tiles[flow.base].name, "ii": flow.ii, "entries": rows}
    return json.dumps(found, indent=1) + "\n"


def _text(result: ProgramResult) -> str:
    """A result as lines of text: the flows and channels with their cycles, or the flow that failed and why."""
    if result.failure is not None:
        failure = result.failure
        of = f"flow {result.flow}: " if result.flow else ""
        return f"{result.name}: {of}{failure.constraint}: needs {failure.demand}, has {failure.bound}"
    record = result.to_json()
    lines = [f"{record['status']}: {result.name} onto {result.arch.name}"]
    if result.program is not None:
        lines.append("  legal, and simulated to compute what the graphs compute, however long messages take")
    lines += [str(violation) for violation in result.violations]
    if result.verdict is not None:
        lines += [str(mismatch) for mismatch in result.verdict.mismatches]
        lines += [result.verdict.error] if result.verdict.error else []
    for flow in record.get("flows", []):
        base = result.arch.tiles[flow["base"]].name
        lines.append(
            f"  {flow['name']}: base {base}, {flow['tiles']} tiles, II {flow['ii']}, {flow['iterations']} "
            f"iterations, cycles {flow['began']} to {flow['ended']}, {flow['waited']} of them waiting"
        )
    lines += [f"  {channel}" for channel in (result.program.channels if result.program else ())]
    lines += [
        f"  messages of {_times(most)}: {' and '.join(map(str, cycles))} cycles in all"
        for most, cycles in _by_latency(record.get("runs", [])).items()
    ]
    return "\n".join(lines)


def _by_latency(runs: list[dict[str, int]]) -> dict[int, list[int]]:
    """Cycles of the runs, each once, by their longest message."""
    found: dict[int, list[int]] = {}
    for run in runs:
        cycles = found.setdefault(run["message_cycles"], [])
        if run["cycles"] not in cycles:
            cycles.append(run["cycles"])
    return found


def _times(most: int) -> str:
    """How long messages took, in words."""
    return "one cycle" if most == 1 else f"1 to {most} cycles"
