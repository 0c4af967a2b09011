"""The options that several commands share: each is declared once, so that it reads and behaves the same everywhere.

A command names the type of a parameter (``seed: Seed = 0``), and typer makes the option from it. The default stands
in the command, since it may differ; name, metavar, help text and completion stand here. An option of one command only
is declared there. Options that several commands take together are the fields of a record, which a command takes as one
parameter (``jobs: JobOptions``); :func:`flatten_records` makes typer see its fields.

Options that look alike and differ: ``Workers`` (searches of one mapping, in this process) and ``Processes`` (jobs of
a suite or a data set) are both ``--jobs``; ``GraphFolder`` and ``DataFolder`` are both ``--folder``.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from gridloom.cli.completion import offer_mappers, offer_names, offer_sources
from gridloom.cli.progress import be_quiet
from gridloom.errors import OptionError

if TYPE_CHECKING:
    from gridloom.compiler.ir.c_source import SourceOptions
    from gridloom.compiler.loops.source_name import SourceName
    from gridloom.flow.system.program_data import ProgramData
    from gridloom.run import ExecutorSpec, Store

# -- data of a function ------------------------------------------------------------------------------------------------

Numbers = Annotated[
    list[str] | None,
    typer.Option("--args", metavar="NAME=NUMBER", help="A number for a parameter; several with commas or again."),
]
OnlyFunctions = Annotated[
    list[str] | None,
    typer.Option("--function", metavar="NAMES", help="Launch loops of these functions only; several with commas."),
]
DataFiles = Annotated[
    list[str] | None,
    typer.Option("--data", metavar="NAME=FILE", help="An array from a .npy file, or all of a .npz file."),
]
RandomSeed = Annotated[
    int | None,
    typer.Option("--random", metavar="SEED", min=0, help="Make up what is not given from this seed."),
]

# -- what is worked on ------------------------------------------------------------------------------------------------

Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A graph: a file, FILE.c:FUNCTION, or kernel:NAME,key=value,... for a built-in kernel. A FILE.py is "
        "executed.",
        autocompletion=offer_sources,
    ),
]
ArrayOrMapping = Annotated[str, typer.Argument(metavar="ARCH|MAPPING", help="An array, or a mapping file.")]
MappingFile = Annotated[str, typer.Argument(metavar="MAPPING", help="A mapping file, as gridloom map -o writes it.")]
Arch = Annotated[
    str,
    typer.Option(
        "--arch",
        metavar="ARCH",
        help="The array: a family with parameters (mesh:5x5, torus:4x4,regs=4) or a YAML file.",
        autocompletion=offer_names("archs"),
    ),
]
EstimatedArch = Annotated[
    str,
    typer.Option(
        "--arch",
        metavar="ARCH",
        help="The array: one with ports in its columns such as vpcma, or a modulo-scheduled one such as torus:4x4.",
        autocompletion=offer_names("archs"),
    ),
]
ColumnArch = Annotated[
    str,
    typer.Option(
        "--arch",
        metavar="ARCH",
        help="The array, which needs ports in its columns, such as vpcma.",
        autocompletion=offer_names("archs"),
    ),
]
Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A model's name; gridloom list models shows them.",
        autocompletion=offer_names("models"),
    ),
]

Named = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="FILE",
        help="A source that the file names and that may be used, or executed if it is Python; may be repeated.",
    ),
]

# -- how it is searched -----------------------------------------------------------------------------------------------

Mapper = Annotated[
    str,
    typer.Option(
        "--mapper",
        metavar="NAME",
        help="The mapper; gridloom list mappers shows them, and auto takes the one that suits the array.",
        autocompletion=offer_mappers,
    ),
]
Seed = Annotated[
    int,
    typer.Option("--seed", metavar="N", help="The random seed; the same seed and effort give the same result."),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="SECONDS",
        help="End each search after this many seconds; reading a source counts after its first second, checking and "
        "simulating the mapping does not.",
    ),
]
CpuLimit = Annotated[
    float | None,
    typer.Option(
        "--cpu-limit",
        metavar="SECONDS",
        help="End each search after so many seconds of CPU time, in the place of --time-limit.",
    ),
]
Effort = Annotated[
    int | None, typer.Option("--effort", metavar="N", help="End each search after this many moves of the mapper.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; the option may be given several times."),
]
Estimator = Annotated[
    str,
    typer.Option(
        "--estimator",
        metavar="NAME",
        help="What judges graphs: learned (a network), bound (counting), or auto (learned where it can run).",
    ),
]

Weights = Annotated[
    Path | None,
    typer.Option(
        "--weights", metavar="FILE", help="Use these weights (of gridloom train -o) instead of the shipped ones."
    ),
]
LabelStore = Annotated[
    Path | None,
    typer.Option("--labels", metavar="STORE", help="A store of labels: of --make-data, or of any run with --store."),
]
Observed = Annotated[
    Path | None,
    typer.Option("--store", metavar="FILE", help="Add what was found to this store, as labels that models train on."),
]

# -- where it runs, and what it keeps ---------------------------------------------------------------------------------

Workers = Annotated[int, typer.Option("--jobs", metavar="N", help="How many workers search at the same time.")]
OutputFolder = Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The folder to write into.")]
VerilogSimulator = Annotated[
    str | None, typer.Option("--simulator", metavar="NAME", help="The Verilog simulator: icarus or verilator.")
]
DeviceName = Annotated[
    str | None,
    typer.Option(
        "--device", metavar="NAME", help="Where the instances of neosa are placed: cpu, gpu, or auto for a GPU if any."
    ),
]
Processes = Annotated[
    int | None,
    typer.Option("--jobs", metavar="N", help="How many processes work at the same time; default: one for each core."),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster", metavar="ADDRESS", help="Run on a Dask cluster: local, or a scheduler (tcp://host:port)."
    ),
]
StoreFile = Annotated[
    Path | None, typer.Option("--store", metavar="FILE", help="Keep rows in this SQLite file as they arrive.")
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Take the rows that the store already has and compute the others.")
]
GraphFolder = Annotated[
    Path | None,
    typer.Option("--folder", metavar="DIR", help="The folder of the published graphs."),
]
DataFolder = Annotated[
    Path | None,
    typer.Option(
        "--folder", metavar="DIR", help="The folder of data sets and checkpoints; default: ~/.cache/gridloom/MODEL."
    ),
]

# -- what is written and printed --------------------------------------------------------------------------------------

Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write a picture to this SVG file.")]
SpokeRam = Annotated[
    Path | None,
    typer.Option(
        "--spoke-ram",
        metavar="FILE",
        help="For a streaming engine: write what each tile does in each spoke to this JSON file.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
Quiet = Annotated[
    bool,
    typer.Option(
        "-q",
        "--quiet",
        is_eager=True,
        expose_value=False,
        callback=be_quiet,
        help="Print no progress and no notes; results and errors are still printed.",
    ),
]

# -- which loop of a C or Python file ---------------------------------------------------------------------------------

Function = Annotated[
    str | None,
    typer.Option("--function", metavar="NAME", help="For C and Python files: the function that holds the loop."),
]
Loop = Annotated[
    int | None,
    typer.Option(
        "--loop",
        metavar="N",
        min=0,
        help="For C files: which loop of the function, counted from 0; gridloom show FILE.c lists them.",
    ),
]
Flatten = Annotated[
    bool, typer.Option("--flatten", help="For C files: run the two innermost levels of a nest as one loop.")
]
Distinct = Annotated[
    bool,
    typer.Option("--distinct", help="For C and MLIR: arrays of different parameters do not overlap, as with restrict."),
]
Unroll = Annotated[
    str | None,
    typer.Option(
        "--unroll",
        metavar="N|auto",
        help="For C and Python files: put this many iterations into one; auto: as many as suit the array.",
    ),
]
Size = Annotated[
    list[str] | None,
    typer.Option(
        "--size", metavar="ARRAY=N", help="For C and Python files: the length of an array in words; may be repeated."
    ),
]
AssumeRange = Annotated[
    list[str] | None,
    typer.Option(
        "--assume-range",
        metavar="NAME=LOW..HIGH",
        help="For loops on arrays of 24-bit words: what the values of a stream, array, live-in or node keep to; * "
        "stands for all 32-bit inputs. May be repeated.",
    ),
]

Defines = Annotated[
    list[str] | None,
    typer.Option("-D", "--define", metavar="NAME[=VALUE]", help="For C files: define a macro; may be repeated."),
]
IncludeFolders = Annotated[
    list[Path] | None,
    typer.Option("-I", "--include", metavar="DIR", help="For C files: a folder of headers; may be repeated."),
]
Standard = Annotated[
    str, typer.Option("-std", "--std", metavar="STANDARD", help="For C files: the language, such as c99 or gnu89.")
]

# -- records of options -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """Where the jobs of a suite or an exploration run, and where their rows are kept."""

    store: StoreFile = None
    resume: Resume = False
    jobs: Processes = None
    cluster: Cluster = None

    def check_store(self) -> None:
        """OptionError for a run that goes on without the store that it goes on with."""
        if self.resume and self.store is None:
            raise OptionError("needs a store to go on with: --store FILE", where="--resume")

    @property
    def executor(self) -> ExecutorSpec:
        """What runs the jobs."""
        from gridloom.run import ExecutorSpec

        return ExecutorSpec.parse(jobs=self.jobs, cluster=self.cluster)

    def open_store(self) -> AbstractContextManager[Store | None]:
        """The store for the length of a block; None where none is named."""
        from gridloom.run import Store

        return nullcontext() if self.store is None else Store(self.store)


@dataclass(frozen=True, kw_only=True)
class LoopOptions:
    """Which loop of a C or Python file is meant, and how it becomes a graph."""

    function: Function = None
    loop: Loop = None
    flatten: Flatten = False
    unroll: Unroll = None
    size: Size = None
    distinct: Distinct = False

    def apply(self, source: str, ranges: list[str] | None = None) -> str:
        """The SOURCE that a text and these options stand for."""
        from gridloom.compiler.loops.spec import with_options

        given = {**vars(self), "sizes": self.size or (), "ranges": ranges or ()}
        given.pop("size")
        return with_options(source, **given)


@dataclass(frozen=True, kw_only=True)
class CompilerOptions:
    """How C files are compiled."""

    define: Defines = None
    include: IncludeFolders = None
    std: Standard = ""

    @property
    def options(self) -> SourceOptions:
        """The options as every front end takes them."""
        from gridloom.compiler.ir.c_source import SourceOptions

        return SourceOptions(
            defines=tuple(self.define or ()), folders=tuple(self.include or ()), standard=self.std.removeprefix("=")
        )

    def apply(self, source: str) -> str | SourceName:
        """The SOURCE that a text and these options stand for. OptionError for a source that is not C."""
        from gridloom.compiler.ir.c_source import PLAIN
        from gridloom.compiler.loops.source_name import split

        if self.options == PLAIN:
            return source
        name = split(source)
        if name.ending != ".c":
            raise OptionError(f"{source} takes none of -D, -I and -std; they are for C files")
        return replace(name, options=self.options)


@dataclass(frozen=True, kw_only=True)
class ProgramOptions:
    """What a whole program runs on."""

    words: Annotated[
        str, typer.Option("--words", metavar="TEXT", help="For programs: the words of their command line.")
    ] = ""
    file: Annotated[
        list[str] | None,
        typer.Option("--file", metavar="[NAME=]FILE", help="For programs: a file that they open; may be repeated."),
    ] = None
    stdin: Annotated[
        Path | None, typer.Option("--stdin", metavar="FILE", help="For programs: their standard input.")
    ] = None

    @property
    def data(self) -> ProgramData:
        """The words and the contents of the files."""
        from gridloom.flow.system.program_data import read_program_data

        return read_program_data(shlex.split(self.words), self.file or (), self.stdin)


def split_names(texts: list[str]) -> list[str]:
    """The names of an option that may be repeated and takes several with commas."""
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


def flatten_records(function: Callable[..., int]) -> Callable[..., int]:
    """The command with the fields of its records as options of their own, in their places."""
    parameters, records = [], {}
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        kind = hints[name]
        if not is_dataclass(kind):
            parameters.append(parameter.replace(annotation=kind))
            continue
        records[name] = [field.name for field in fields(kind)]
        inner = get_type_hints(kind, include_extras=True)
        parameters += [
            parameter.replace(name=field.name, default=field.default, annotation=inner[field.name])
            for field in fields(kind)
        ]

    @wraps(function)
    def flat(**options: Any) -> int:
        made = {name: hints[name](**{key: options.pop(key) for key in keys}) for name, keys in records.items()}
        return function(**options, **made)

    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return flat
