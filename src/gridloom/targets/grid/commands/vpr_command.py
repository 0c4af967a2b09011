"""``gridloom vpr`` writes a graph and a grid as files for VPR, and compares its placements with ours where it runs."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gridloom.cli.options import Arch, AsJson, OutputFolder, Quiet, Source
from gridloom.cli.outputs import check_folder

if TYPE_CHECKING:
    from gridloom.targets.grid.export.vpr.flow import PlacerRow


def vpr(
    *,
    source: Source,
    arch: Arch,
    output: OutputFolder,
    runs: Annotated[
        int, typer.Option("--runs", metavar="N", min=0, help="Run VPR with this many seeds, and compare with ours.")
    ] = 0,
    program: Annotated[
        str, typer.Option("--vpr", metavar="FILE", help="The VPR to run; default: vpr on the PATH.")
    ] = "vpr",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Write architecture and netlist for VPR; with --runs, place with it and compare.

    VPR's placements are routed and balanced by gridloom, which then maps by itself for as much CPU time as VPR took.
    Needs the program vpr, on the PATH or named by --vpr, for --runs only.
    """
    from gridloom.flow.inputs import prepare, read_arch
    from gridloom.targets.grid.export.vpr.flow import command, compare, write_files

    check_folder(output, "-o")
    if runs:
        published = os.environ.get("GRIDLOOM_BENCHMARKS")
        elsewhere = Path(published) if published else None
        rows = compare(source, arch, output, runs=runs, program=program, elsewhere=elsewhere)
        print(json.dumps([asdict(row) for row in rows]) if as_json else _table(rows))
        return 0
    array = read_arch(arch)
    paths = write_files(prepare(source, array).dfg, array, output)
    line = command(1, program=program, start=len(paths) > 2)
    record = {"files": [str(path) for path in paths], "command": line}
    print(json.dumps(record) if as_json else _files(paths, line))
    return 0


def _files(paths: list[Path], command: list[str]) -> str:
    lines = [f"wrote {path}" for path in paths]
    place = f"gridloom map SOURCE --arch ARCH --place {paths[0].parent / 'graph.place'}"
    return "\n".join([*lines, f"place in that folder with: {' '.join(command)}", f"then judge with: {place}"])


def _table(rows: list[PlacerRow]) -> str:
    wide = max(len(row.placer) for row in rows)
    lines = [f"{'placer':<{wide}} {'CPU s':>8} {'FIFO':>5} {'wirelength':>11} {'routed':>7}  version"]
    for row in rows:
        fifo, wire, routed = ("-" if value is None else value for value in (row.fifo, row.wirelength, row.routed))
        figures = f"{fifo:>5} {wire:>11} {routed:>7}  {row.version}"
        lines.append(f"{row.placer:<{wide}} {row.seconds:>8.2f} {figures}".rstrip())
    refused = sum(row.legal is False for row in rows)
    if refused:
        lines.append(f"{refused} of {len(rows)} placements cannot be routed and balanced")
    return "\n".join(lines)
