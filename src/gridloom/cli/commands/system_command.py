"""``gridloom system`` puts a C function on a core and an array: hardware, driver, program, simulation, table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from gridloom.cli.options import (
    AsJson,
    CompilerOptions,
    DataFiles,
    Effort,
    Mapper,
    Numbers,
    OnlyFunctions,
    ProgramOptions,
    Quiet,
    RandomSeed,
    Seed,
    TimeLimit,
    split_names,
)
from gridloom.cli.progress import display, note
from gridloom.errors import OptionError


def system(
    *,
    source: Annotated[
        list[str],
        typer.Argument(metavar="PROGRAM|FILE", help="The C files of a program, or FILE.c:FUNCTION for a function."),
    ],
    arch: Annotated[
        str, typer.Option("--arch", metavar="ARCH", help="The array: a family with parameters (torus:4x4).")
    ],
    only: OnlyFunctions = None,
    compiling: CompilerOptions = CompilerOptions(),
    program: ProgramOptions = ProgramOptions(),
    run: Annotated[
        bool, typer.Option("--run", help="Simulate core and array, and the core alone, and print the cycles.")
    ] = False,
    numbers: Numbers = None,
    data: DataFiles = None,
    random: RandomSeed = None,
    always: Annotated[
        bool, typer.Option("--always", help="Launch every mapped loop, even where the core is faster.")
    ] = False,
    unroll: Annotated[
        str,
        typer.Option(
            "--unroll",
            metavar="WHICH",
            help="Inner loops of few iterations: short unrolls them, none launches them, auto what suits the array.",
        ),
    ] = "auto",
    mapper: Mapper = "auto",
    seed: Seed = 0,
    time_limit: TimeLimit = None,
    effort: Effort = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Write Verilog, header, driver and program.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Build a system of a RISC-V core and an array around a C program, and run it in simulation.

    A file with a main runs as it is. A function without one is called with --args, --data and --random. The exit status
    is 1 when what the program prints differs from native code.
    """
    from gridloom.cli.clock import array_clock
    from gridloom.flow.functions.inputs import read_given
    from gridloom.flow.functions.naming import name_function
    from gridloom.flow.system.answer import answer_record, answer_text
    from gridloom.flow.system.command import run_function
    from gridloom.flow.system.compile import compile_for_system

    if not run and output is None:
        raise OptionError("say what to do: --run simulates the system, -o DIR writes its files")
    with display(None) as shown:
        compiled = compile_for_system(
            name_function(source, compiling.options, split_names(only or [])),
            arch,
            unroll=unroll,
            mapper=mapper,
            seed=seed,
            time_limit=time_limit,
            effort=effort,
            progress=shown.search,
        )
    given = read_given(compiled.signature, numbers or [], data or [])
    result, files = run_function(
        compiled, given, seed=random, always=always, run=run, files=output is not None, data=program.data
    )
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (output / name).write_text(text, encoding="utf-8")
        note(f"wrote {len(files)} files to {output}")
    if result is None:
        return 0
    mhz = array_clock(compiled.arch)
    print(json.dumps(answer_record(result, mhz)) if as_json else answer_text(result, mhz))
    return int(bool(result.differences))
