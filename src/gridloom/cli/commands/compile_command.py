"""``gridloom compile`` maps every loop of a C function and runs the function on data.

The work is in :mod:`gridloom.flow.functions`; this command reads arguments, prints tables and writes files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gridloom.cli.options import (
    AsJson,
    CompilerOptions,
    DataFiles,
    Distinct,
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
from gridloom.cli.outputs import check_writable, write_and_tell
from gridloom.cli.progress import display, note
from gridloom.errors import GridloomError, MappingError, MissingExtra, OptionError, SimulationError, SourceError
from gridloom.limits import TimeUp
from gridloom.text_file import is_dir

if TYPE_CHECKING:
    from gridloom.compiler.ir.c_source import SourceOptions
    from gridloom.flow.functions.compile import Compiled
    from gridloom.flow.functions.run import FunctionRun
    from gridloom.flow.system.program_data import ProgramData
    from gridloom.flow.system.run import SystemRun


def compile_source(
    *,
    source: Annotated[
        list[str],
        typer.Argument(
            metavar="FUNCTION|FILE",
            help="FILE.c:FUNCTION, FILE.mlir:FUNCTION, the files of a program, or a file that -o wrote before.",
        ),
    ],
    only: OnlyFunctions = None,
    compiling: CompilerOptions = CompilerOptions(),
    program: ProgramOptions = ProgramOptions(),
    arch: Annotated[
        str | None,
        typer.Option("--arch", metavar="ARCH", help="The array: a family with parameters (torus:4x4) or a YAML file."),
    ] = None,
    saved: Annotated[
        Path | None,
        typer.Option("--source", metavar="FILE", help="The C or MLIR file that a file of -o was compiled from."),
    ] = None,
    numbers: Numbers = None,
    data: DataFiles = None,
    random: RandomSeed = None,
    simulate: Annotated[
        str,
        typer.Option("--simulate", metavar="N", help="How many launches of each loop run cycle by cycle, or all."),
    ] = "16",
    always: Annotated[
        bool,
        typer.Option("--always", help="Launch every mapped loop on the array, even where the host is faster."),
    ] = False,
    sizes: Annotated[
        bool,
        typer.Option("--sizes", help="Show the throughput of each loop that arrays of other sizes allow."),
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what each pass made of each loop, with lines of the source.")
    ] = False,
    native: Annotated[
        bool,
        typer.Option(
            "--native/--no-native",
            help="Compare with the function compiled for this machine, confined; or with its IR, interpreted.",
        ),
    ] = True,
    distinct: Distinct = False,
    predict: Annotated[
        bool,
        typer.Option("--predict/--no-predict", help="Predict the cycles of a RISC-V core with and without the array."),
    ] = True,
    mapper: Mapper = "auto",
    seed: Seed = 0,
    time_limit: TimeLimit = None,
    effort: Effort = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the mapped function to this JSON file.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write the arrays that the function leaves to NAME.npy.")
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option("--trace", metavar="FILE", help="Write the timeline of the run: .json (Perfetto) or .vcd."),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Map every loop of a C or MLIR function onto an array, run it on data, and compare it with compiled code.

    Without --args, --data and --random the function is mapped and not run. --effort and --time-limit hold for the
    search of each loop. The exit status is 1 when the values differ from those of the compiled code.
    """
    from gridloom.cli.clock import array_clock
    from gridloom.flow.functions.describing import compiled_record, compiled_text, run_record, run_text, sizes_text
    from gridloom.flow.functions.explaining import explain_text
    from gridloom.flow.functions.files import dumps
    from gridloom.flow.functions.inputs import read_given
    from gridloom.flow.functions.launching.timeline import check_trace, timeline_text
    from gridloom.flow.system.answer import answer_record, answer_text

    check_writable([("--output", output), ("--trace", trace)])
    check_trace(trace)
    _check_folder(out)
    search = {"mapper": mapper, "seed": seed, "time_limit": time_limit, "effort": effort, "distinct": distinct}
    compiled = _compiled(source, arch, saved, compiling.options, split_names(only or []), **search)
    given = read_given(compiled.signature, numbers or [], data or [])
    whole = compiled.asked is not None and compiled.asked[0].is_program
    wanted = whole or bool(given) or random is not None or not compiled.signature.parameters
    run: FunctionRun | None = None
    answer: SystemRun | str | None = None
    late: GridloomError | None = None
    if wanted:
        traced = trace is not None
        try:
            if not whole:
                run = compiled.run(seed=random, simulate=simulate, trace=traced, always=always, native=native, **given)
            if predict and compiled.asked is not None:
                answer = _predicted(compiled, random, always, program.data, given)
        except (SourceError, TimeUp) as error:
            late = error
    texts = {} if output is None else {output: dumps(compiled)}
    if run is not None and trace is not None:
        texts[trace] = timeline_text(trace, run.events)
    write_and_tell(texts)
    if run is not None and out is not None:
        _write_arrays(out, run)
    if as_json:
        mhz = None if answer is None else array_clock(compiled.arch)
        told = {"reason": answer} if isinstance(answer, str) else answer and answer_record(answer, mhz)
        ran = None if run is None else run_record(run)
        print(json.dumps({**compiled_record(compiled), "run": ran, "system": told}))
    else:
        parts = [compiled_text(compiled), *([sizes_text(compiled)] if sizes else [])]
        parts += [explain_text(compiled)] if explain else []
        parts += [] if run is None else [run_text(run)]
        if answer is not None:
            parts.append(answer if isinstance(answer, str) else answer_text(answer, array_clock(compiled.arch)))
        print("\n".join(parts))
    if late is not None:
        # The mapping took its time and is legal: it is kept and printed before it is said why there is no run.
        raise late
    predicted = () if answer is None or isinstance(answer, str) else answer.differences
    return int(bool(predicted) or (run is not None and bool(run.native.differences)))


def _compiled(
    texts: list[str], arch: str | None, saved: Path | None, options: SourceOptions, only: list[str], **search: Any
) -> Compiled:
    """The function, compiled or loaded from a file."""
    from gridloom.compiler.ir.c_source import CSource, CUnit
    from gridloom.flow.functions.compile import compile_function
    from gridloom.flow.functions.files import is_function_file, load
    from gridloom.flow.functions.mlir import mlir_source
    from gridloom.flow.functions.naming import name_function

    if is_function_file(Path(texts[0])):
        if arch is not None:
            raise OptionError(f"{texts[0]} has an array already; leave out --arch", where="--arch")
        return load(Path(texts[0]), None if saved is None else CSource(units=(CUnit(path=saved, options=options),)))
    if saved is not None:
        raise OptionError("is for a file that -o wrote; leave it out", where="--source")
    if arch is None:
        raise OptionError("name the array to compile for: --arch torus:4x4")
    is_mlir = len(texts) == 1 and mlir_source(texts[0]) is not None
    with display(None) as shown:
        named = texts[0] if is_mlir else name_function(texts, options, only)
        return compile_function(named, arch, **search, progress=shown.search)


def _predicted(
    compiled: Compiled, seed: int | None, always: bool, data: ProgramData, given: dict[str, Any]
) -> SystemRun | str:
    """What a system would take, or why none is predicted."""
    try:
        return compiled.predict(seed=seed, always=always, data=data, **given)
    except MissingExtra as error:
        return f"not predicted for a RISC-V core: {error.message}"
    except (MappingError, SimulationError, SourceError) as error:
        return f"does not pay off on a RISC-V core: {error.message}"


def _check_folder(folder: Path | None) -> None:
    if folder is not None and not is_dir(folder):
        raise OptionError(f"there is no folder {folder}; create it first", where="--out")


def _write_arrays(folder: Path, run: FunctionRun) -> None:
    """Write what the function left, one file for each array."""
    import numpy as np

    for name, array in {**run.variables, **run.arrays}.items():
        np.save(folder / f"{name}.npy", array)
        note(f"wrote {folder / name}.npy")
