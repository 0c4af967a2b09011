"""``gridloom program``: several flows with channels between them on one streaming engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gridloom.cli.outputs import check_writable, write_all
from gridloom.cli.progress import note

if TYPE_CHECKING:
    from gridloom.flow.programs import ProgramResult


def program(
    source: Annotated[Path, typer.Argument(metavar="PROGRAM", help="A YAML file with flows and channels.")],
    arch: Annotated[str, typer.Option("--arch", help="A streaming engine: streaming-engine:16,spokes=6.")],
    mapper: Annotated[str, typer.Option("--mapper", help="A mapper's name.")] = "auto",
    seed: Annotated[int, typer.Option("--seed", min=0)] = 0,
    time_limit: Annotated[float | None, typer.Option("--time-limit", help="Seconds of search a flow.")] = None,
    effort: Annotated[int | None, typer.Option("--effort", min=1, help="Moves a flow.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the program here (JSON).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Map the flows of a program onto tiles of their own, check them, run them together with messages of any length."""
    from gridloom.flow.programs import map_program, read_program
    from gridloom.flow.request import Request
    from gridloom.mapping.program import dumps

    check_writable([("--output", output)])
    if time_limit is None and effort is None:
        effort = 200_000
    read = read_program(source)
    request = Request(source="", arch=arch, mapper=mapper, seed=seed, time_limit=time_limit, effort=effort)
    result = map_program(read, request)
    if output is not None and result.program is not None:
        write_all({output: dumps(result.program)})
        note(f"wrote {output}")
    print(json.dumps(result.to_json()) if as_json else _text(result))
    return 0 if result.program is not None else 1


def _text(result: ProgramResult) -> str:
    if result.failure is not None:
        failure = result.failure
        of = f"flow {result.flow}: " if result.flow else ""
        return f"{result.name}: {of}{failure.constraint}: needs {failure.demand}, has {failure.bound}"
    record = result.to_json()
    lines = [f"{result.name} on {result.arch.name}: {record['status']}, {record['verified']}"]
    lines += [str(violation) for violation in result.violations]
    if result.verdict is not None:
        lines += [str(mismatch) for mismatch in result.verdict.mismatches]
        lines += [result.verdict.error] if result.verdict.error else []
    for flow in record.get("flows", []):
        lines.append(
            f"  {flow['name']}: base t_{flow['base']}, {flow['tiles']} tiles, II {flow['ii']}, {flow['iterations']} "
            f"iterations, cycles {flow['began']} to {flow['ended']}, {flow['waited']} of them waiting"
        )
    lines += [f"  {channel}" for channel in (result.program.channels if result.program else ())]
    lines += [f"  messages of up to {r['message_cycles']} cycles: {r['cycles']} cycles" for r in record.get("runs", [])]
    return "\n".join(lines)
