"""The functions of ``import gridloom as gl``: each is one command of the command line, with values instead of files.

They read what they are given (a path, a text, an object), call the flow of that name and return its record. Errors are
GridloomErrors, as on the command line. Modules that take long to import are loaded by the functions that need them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Mapping as MappingABC
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gridloom import plugins, registry
from gridloom.archs.model import Arch
from gridloom.compiler.python.kernel import PythonKernel
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.flow.bench.run import Report, bench_mappers
from gridloom.flow.bench.run import bench as run_suite
from gridloom.flow.bench.selection import SuiteChoice
from gridloom.flow.bench.suite import load_suite
from gridloom.flow.display.bar import cells_bar, search_bar
from gridloom.flow.display.picture import Picture
from gridloom.flow.files import load_any, load_mapping
from gridloom.flow.inputs import ArchLike, read_arch, read_source
from gridloom.flow.request import Placement, Request, limit_seconds
from gridloom.flow.result import Result
from gridloom.flow.run import run as run_flow
from gridloom.mapping import json_format
from gridloom.mapping.model import Mapping
from gridloom.run import ExecutorSpec, Store
from gridloom.search.choice import MapperFunction, mapper_name

if TYPE_CHECKING:
    from gridloom.flow.functions.compile import Compiled
    from gridloom.search.budget import Reporter
    from gridloom.sim import Verdict
    from gridloom.verify import Stats, Violation


class GraphBuilder(Protocol):
    """What has a graph to give: a built-in kernel's object, a network's, a DfgBuilder.

    Anything with a method ``build`` that returns a Dfg will do.
    """

    def build(self) -> Dfg:
        """The graph."""
        ...


Source = Dfg | PythonKernel | GraphBuilder | str | Path


def map(
    source: Source,
    arch: ArchLike,
    *,
    mapper: str | MapperFunction = "auto",
    ii: int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    cpu_limit: float | None = None,
    effort: int | None = None,
    jobs: int = 1,
    settings: MappingABC[str, Any] | None = None,
    place: Placement | None = None,
    init: Placement | None = None,
    pin: Placement | None = None,
    prove: bool = False,
    split_lanes: bool = False,
    iterations: int = 64,
    progress: Reporter | bool | None = None,
    interrupted: Callable[[], bool] | None = None,
) -> Result:
    """Map a graph onto an array, check the mapping and simulate it; returns a Result.

    Raises a GridloomError for bad input; that there is no mapping is a Result with ``status == "failed"`` and a
    ``failure``. Costs the search, plus checks that are linear in the mapping.

    source: a Dfg, a ``@gl.kernel``, a built-in kernel's object, a file, or ``kernel:NAME,key=value,...``
    arch: an Arch, an ARCH string (``mesh:5x5``), a YAML file, or a dictionary with ``family`` and its parameters
    mapper: the mapper's name, or a function ``f(dfg, arch, config, budget)``; ``auto`` takes the one for the array
    ii: the II to map at, on modulo-scheduled arrays; None leaves the choice to the mapper
    seed: the random seed; the same seed and effort give the same mapping
    time_limit: seconds of search, compilation not counted; None sets no limit
    cpu_limit: seconds of CPU time of the search, in the place of time_limit
    effort: moves of the search (or the mapper's own unit of work); None sets no limit
    jobs: how many workers search at the same time
    settings: fields of the mapper's configuration
    place: a complete placement (node to tile, or a file), which is only routed and balanced
    init: a placement that the search starts from
    pin: nodes that stay on the tiles given
    prove: search until the result is proved to be the best there is
    split_lanes: split the iterations of one loop over the SIMD lanes of the array
    iterations: how many iterations the simulation compares
    progress: is called with the state of the search now and then; True draws a bar, in notebooks too
    interrupted: is asked now and then; once it returns True the search ends with the best so far
    """
    with _bar_of(progress, cpu_limit if time_limit is None else time_limit) as reporter:
        return run_flow(
            Request(
                source=_readable(source),
                arch=arch,
                mapper=mapper,
                ii=ii,
                seed=seed,
                **limit_seconds(time_limit, cpu_limit),
                effort=effort,
                jobs=jobs,
                settings=settings or {},
                place=place,
                init=init,
                pin=pin,
                prove=prove,
                split_lanes=split_lanes,
                iterations=iterations,
                progress=reporter,
                interrupted=interrupted,
            )
        )


def compile(
    source: str | Path | Sequence[str | Path],
    arch: ArchLike,
    *,
    only: Sequence[str] = (),
    defines: Sequence[str] = (),
    folders: Sequence[str | Path] = (),
    standard: str = "",
    mapper: str = "auto",
    seed: int = 0,
    time_limit: float | None = None,
    effort: int | None = None,
    told: Callable[[str], None] | None = None,
) -> Compiled:
    """Map every loop of a whole C function onto an array; returns what can be run on data: ``compiled.run(a=array)``.

    Raises a GridloomError for bad input; a loop that the array cannot take stays on the host, with the reason in
    ``compiled.loops``. Costs one search per loop.

    source: ``FILE.c:FUNCTION`` or ``FILE.mlir:FUNCTION``; ``FILE.c`` or several files for a program with a ``main``
    only: the functions whose loops are mapped; all that the function reaches without it
    defines, folders, standard: what ``-D``, ``-I`` and ``-std`` say to a compiler
    arch: an Arch, an ARCH string (``torus:4x4``), a YAML file, or a dictionary with ``family`` and its parameters
    mapper: the mapper's name; ``auto`` takes the one that suits the array
    seed: the random seed; the same seed and effort give the same mappings
    time_limit: seconds of search for each loop; without it and ``effort``, 20 s or 50,000 moves, whichever ends first
    effort: moves of each search (or the mapper's own unit of work)
    told: is called with one line about each loop
    """
    from gridloom.compiler.ir.c_source import SourceOptions
    from gridloom.flow.functions.compile import compile_function
    from gridloom.flow.functions.mlir import mlir_source
    from gridloom.flow.functions.naming import name_function

    texts = [source] if isinstance(source, str | Path) else list(source)
    named: Any = texts[0]
    if mlir_source(texts[0]) is None:
        options = SourceOptions(
            defines=tuple(defines), folders=tuple(Path(folder) for folder in folders), standard=standard
        )
        named = name_function(texts, options, only)
    return compile_function(named, arch, mapper=mapper, seed=seed, time_limit=time_limit, effort=effort, told=told)


def load(source: Source) -> Dfg:
    """The graph of a SOURCE: a file of any format that is read, ``kernel:NAME,key=value,...``, or a kernel."""
    return read_source(_readable(source))


def arch(description: ArchLike) -> Arch:
    """The array of an ARCH string (``chess:8x8``), a YAML file or a dictionary with ``family`` and its parameters."""
    return read_arch(description)


def check(mapping: Result | Mapping | str | Path) -> list[Violation]:
    """Every rule that a mapping breaks; an empty list means that it is legal.

    Takes a mapping, the file of one, or a Result. Linear in the mapping's hops.
    """
    from gridloom.verify import legal

    return list(legal(_mapping(mapping)))


def measure(mapping: Result | Mapping | str | Path) -> Stats:
    """The metrics of a mapping, recomputed from its instances and routes alone.

    Takes a mapping, the file of one, or a Result.
    """
    from gridloom.verify import stats

    return stats(_mapping(mapping))


def simulate(mapping: Result | Mapping | str | Path, *, iterations: int = 64, seed: int = 0) -> Verdict:
    """Run a mapping cycle by cycle on random inputs and compare it with the graph; ``verdict.ok`` is the answer.

    Takes a mapping, the file of one, or a Result. Costs iterations times tiles.
    """
    from gridloom.sim import simulate as run_simulation

    return run_simulation(_mapping(mapping), iterations=iterations, seed=seed)


def save(what: Result | Mapping, path: str | Path) -> None:
    """Write a result or a mapping to a file, whole or not at all.

    The ending says how: ``.html`` is the report, ``.svg`` the picture, and everything else the mapping as JSON. The
    report of a Result without a mapping shows why there is none; the other two then are an OptionError.
    """
    from gridloom.emit.files import write_atomically

    ending = Path(path).suffix.lower()
    if ending == ".html":
        from gridloom.flow.display.report import mapping_page, result_page

        text = result_page(what) if isinstance(what, Result) else mapping_page(what)
    elif ending == ".svg":
        text = show(what).svg
    else:
        text = json_format.dumps(_mapping(what))
    write_atomically(path, text)


def show(what: Result | Mapping | Arch | Source) -> Picture:
    """The picture of a result, a mapping, an array or a graph, or of what a MAPPING, ARCH or SOURCE names.

    Notebooks draw it, ``print`` draws it in the terminal, and its ``svg`` is the text of an SVG file.
    """
    if isinstance(what, str | Path):
        return Picture(load_any(str(what)))
    if isinstance(what, Mapping | Arch | Dfg):
        return Picture(what)
    return Picture(_mapping(what) if isinstance(what, Result) else load(what))


def names(group: str) -> dict[str, str]:
    """The names of a group, each with one line about it.

    The groups are archs, mappers, kernels, networks, costs, suites, models and readers; ``plugins`` lists the plug-ins
    with their states.
    """
    if group == "plugins":
        return {plugin.name: f"{plugin.state} {plugin.reason}".strip() for plugin in plugins.find_plugins()}
    return {name: registry.entry(group, name).summary for name in registry.names(group)}


def bench(
    suite: str,
    *,
    mapper: str | MapperFunction | Sequence[str | MapperFunction] | None = None,
    arch: str | Sequence[str] | None = None,
    seeds: int | Sequence[int] | None = None,
    effort: int | None = None,
    time_limit: float | None = None,
    cpu_limit: float | None = None,
    settings: MappingABC[str, Any] | None = None,
    jobs: int | None = None,
    folder: str | Path | None = None,
    store: str | Path | None = None,
    progress: bool = False,
) -> Report:
    """Run a suite and return its rows in order, those of one mapper after those of another, and their comparison.

    ``report.rows`` and ``report.summary`` are plain data, ``report.to_pandas()`` is a DataFrame of the rows, and
    ``report.table()`` compares the mappers cell by cell as Markdown, CSV or LaTeX. A row names its mapper, source,
    array and seed. Functions that another process cannot import (those of a notebook or a script) run on threads of
    this process, and so does everything that is registered in one. OptionError for an unknown name, for two mappers of
    one name, and for a store together with a function.

    suite: a suite's name, or a YAML file
    mapper: a mapper's name or function, or several to compare with the first; None takes the suite's
    arch: an ARCH or several; those of the suite narrow it, others take the place of the suite's arrays
    seeds: seeds in the place of the suite's; a number stands for the seeds from 1
    effort: moves of each search, in the place of the suite's
    time_limit: seconds of each search, in the place of the suite's
    cpu_limit: the same in seconds of CPU time
    settings: fields of the mappers' configuration, on top of the suite's
    jobs: processes that map at the same time; None takes one for each core
    folder: the folder of the published graphs
    store: a file that keeps rows as they arrive; a run that was killed continues
    progress: draws a bar, in notebooks too
    """
    choice = SuiteChoice(
        mappers=[] if mapper is None else [mapper] if isinstance(mapper, str) or callable(mapper) else mapper,
        archs=[arch] if isinstance(arch, str) else list(arch or ()),
        seeds=range(1, seeds + 1) if isinstance(seeds, int) else list(seeds or ()),
        effort=effort,
        time_limit=time_limit,
        cpu_limit=cpu_limit,
        settings=settings or {},
    )
    chosen = choice.apply(load_suite(suite))
    mappers = [one.mapper for _, one in chosen]
    _check_names(mappers, stored=store is not None)
    executor = ExecutorSpec.parse(jobs=jobs)
    if executor.backend == "processes" and not plugins.is_portable(*mappers):
        executor = replace(executor, backend="threads")
    where = None if folder is None else Path(folder)
    bar = cells_bar() if progress else nullcontext()
    with nullcontext() if store is None else Store(store) as opened, bar as shown:
        return bench_mappers(
            chosen,
            lambda one, _: run_suite(one, folder=where, executor=executor, store=opened, resume=True, progress=shown),
        )


def _bar_of(progress: Reporter | bool | None, limit: float | None) -> AbstractContextManager[Reporter | None]:
    """What hears of a search: the caller's reporter, a bar, or nobody."""
    if isinstance(progress, bool) or progress is None:
        return search_bar(limit) if progress else nullcontext()
    return nullcontext(progress)


def _check_names(mappers: Sequence[str | MapperFunction], *, stored: bool) -> None:
    """OptionError for mappers that a store cannot name."""
    for one in mappers:
        if stored and (not isinstance(one, str) or ("mappers", one) in registry.registrations()):
            raise OptionError(
                f"mapper {mapper_name(one)!r} may change under its name, so that its results are not kept; leave the "
                "store out, or declare the mapper in a plug-in",
                where="store",
            )


def _readable(source: Source) -> Dfg | PythonKernel | str | Path:
    """A source as a flow takes it: what builds a graph has built it."""
    if isinstance(source, Dfg | PythonKernel | str | Path):
        return source
    if callable(getattr(source, "build", None)):
        return source.build()
    hint = "; decorate the function with @gridloom.kernel" if callable(source) else ""
    raise OptionError(f"expected a graph, a kernel, a file or kernel:NAME, found a {type(source).__name__}{hint}")


def _mapping(mapping: Result | Mapping | str | Path) -> Mapping:
    """Return the mapping that an argument stands for; OptionError for a Result without one.

    Of a Result that the checks refused, the refused mapping is taken, so that it can be looked at.
    """
    if isinstance(mapping, Mapping):
        return mapping
    if not isinstance(mapping, Result):
        return load_mapping(mapping)
    # Checking and drawing a refused mapping is how an error in a mapper is found.
    kept = mapping.mapping or mapping.refused
    if kept is None:
        raise OptionError(f"the result has no mapping: {mapping.failure}")
    return kept
