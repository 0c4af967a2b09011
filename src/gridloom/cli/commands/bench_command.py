"""``gridloom bench`` runs a suite, prints a table of its cells and compares them with golden results.

The command only reads options, opens the store and formats what comes back: suites, runs and comparisons are in
:mod:`gridloom.flow.bench`. Options are checked, and golden results read, before the first cell runs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gridloom.cli.completion import offer_mappers, offer_names
from gridloom.cli.options import AsJson, CpuLimit, Effort, GraphFolder, JobOptions, Named, Quiet, Settings, TimeLimit
from gridloom.cli.outputs import check_writable, figure_files, write_and_tell
from gridloom.cli.progress import display, note
from gridloom.errors import OptionError
from gridloom.text_file import is_dir

if TYPE_CHECKING:
    from gridloom.flow.bench.golden import GoldenComparison
    from gridloom.flow.bench.processor import Processor
    from gridloom.flow.bench.run import Report
    from gridloom.flow.bench.selection import SuiteChoice
    from gridloom.flow.bench.suite import Suite


@dataclass(frozen=True, kw_only=True)
class ChoiceOptions:
    """What is asked of a suite in the place of its own mapper, arrays, seeds and budget."""

    mapper: Annotated[
        str | None,
        typer.Option(
            "--mapper",
            metavar="NAMES",
            help="Use another mapper than the suite's, or compare several (ramp,regimap,ramp:without=memory).",
            autocompletion=offer_mappers,
        ),
    ] = None
    effort: Effort = None
    time_limit: TimeLimit = None
    cpu_limit: CpuLimit = None
    arch: Annotated[
        str | None,
        typer.Option("--arch", metavar="ARCHS", help="Arrays of the suite (ramp-7,ramp-8), or others in their place."),
    ] = None
    seed: Annotated[
        str | None, typer.Option("--seed", metavar="NUMBERS", help="Other seeds than the suite's (1,2,3).")
    ] = None
    seeds: Annotated[
        int | None, typer.Option("--seeds", metavar="N", min=1, help="The seeds 1 to N in the place of the suite's.")
    ] = None
    settings: Settings = None

    def choice(self) -> SuiteChoice:
        """The choice that these options stand for."""
        from gridloom.flow.bench.selection import SuiteChoice, split_archs
        from gridloom.flow.options import parse_settings

        if self.seed is not None and self.seeds is not None:
            raise OptionError("--seeds counts seeds from 1, --seed names them; give one of them")
        return SuiteChoice(
            mappers=_words(self.mapper),
            archs=split_archs(self.arch or ""),
            seeds=_seeds(self.seed) if self.seeds is None else range(1, self.seeds + 1),
            effort=self.effort,
            time_limit=self.time_limit,
            cpu_limit=self.cpu_limit,
            settings=parse_settings(self.settings or []),
        )


@dataclass(frozen=True, kw_only=True)
class GoldenOptions:
    """The golden results that are written, or compared with."""

    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write the rows to this file, as golden results.")
    ] = None
    compare: Annotated[
        Path | None, typer.Option("--compare", metavar="FILE", help="Compare with the golden results in this file.")
    ] = None
    tolerance: Annotated[
        list[str] | None,
        typer.Option("--tolerance", metavar="SHARE", help="How much worse a cell may be: 0.1, or wirelength=0.2."),
    ] = None

    def judge(self) -> Callable[[Report], GoldenComparison | None]:
        """What compares a report with the golden results, which are read here."""
        from gridloom.flow.bench.golden import compare, parse_tolerances, read_golden

        tolerances = parse_tolerances(self.tolerance or [])
        if self.compare is None:
            return lambda report: None
        golden = read_golden(self.compare)
        return lambda report: compare(report.rows, golden, tolerances)


@dataclass(frozen=True, kw_only=True)
class ShownOptions:
    """How the rows are shown."""

    table: Annotated[
        Literal["md", "csv", "latex"] | None,
        typer.Option("--table", help="Print the comparison of the mappers as a table, in the place of the cells."),
    ] = None
    metric: Annotated[
        str | None,
        typer.Option("--metric", metavar="NAME", help="Compare by this metric; default: the II, where it differs."),
    ] = None
    plot: Annotated[
        list[str] | None,
        typer.Option(
            "--plot", metavar="FILE.svg", help="Draw all figures, or one of them as wirelength=FILE.svg; repeatable."
        ),
    ] = None
    as_json: AsJson = False


def bench(
    *,
    suite: Annotated[
        str,
        typer.Argument(
            metavar="SUITE",
            help="A suite's name (gridloom list suites), its YAML file, or area.",
            autocompletion=offer_names("suites"),
        ),
    ],
    golden: GoldenOptions,
    jobs: JobOptions,
    chosen: ChoiceOptions,
    processor: Annotated[
        str | None,
        typer.Option(
            "--processor",
            metavar="KEY=VALUE,...",
            help="Compare loops with another processor than the default (width=2, blocking=true, load=2, misses=0.05).",
        ),
    ] = None,
    folder: GraphFolder = None,
    source: Named = None,
    shown: ShownOptions,
    quiet: Quiet = False,
) -> int:
    """Run a suite: map every source onto every array under every seed, on worker processes.

    Several mappers are compared cell by cell. --effort and --time-limit replace the suite's own. The exit status is 1
    when fewer cells map than the suite expects, or when a cell is worse than its golden result allows.
    """
    from gridloom.flow.bench.comparison import check_metric
    from gridloom.flow.bench.functions.suite import FunctionSuite
    from gridloom.flow.bench.golden import table
    from gridloom.flow.bench.run import bench_mappers
    from gridloom.flow.bench.suite import load_suite

    check_writable([("--csv", golden.csv), ("--store", jobs.store)])
    if suite.partition(":")[0] == "area":
        from gridloom.cli.commands.area_command import bench_area

        return bench_area(suite, golden.csv, shown.plot or [], shown.as_json)
    wanted, compared = _figures(shown.plot or []), _processor(processor)
    check_metric(shown.metric)
    jobs.check_store()
    judge = golden.judge()
    asked = chosen.choice().apply(load_suite(suite, source or ()))
    # A golden file has one row per cell, whatever the mapper.
    if len(asked) > 1 and (golden.csv is not None or golden.compare is not None):
        raise OptionError("golden results are of one mapper", where="--mapper")
    first = asked[0][1]
    if isinstance(first, FunctionSuite):
        from gridloom.cli.commands.functions_command import bench_functions

        return bench_functions(first, _folder(folder), jobs.executor, golden.csv, shown.as_json)
    place = _folder(folder)
    report = bench_mappers(
        asked, lambda one, more: _run(one, jobs, place, compared, more), named=":" in (chosen.mapper or "")
    )
    comparison = judge(report)
    if golden.csv is not None:
        write_and_tell({golden.csv: table(report.rows)})
    _draw(report, wanted, shown.metric)
    _tell(report, comparison, shown)
    return _status(first, report, comparison)


def _tell(report: Report, comparison: GoldenComparison | None, shown: ShownOptions) -> None:
    """Print a report, and how it compares with golden results."""
    if shown.as_json:
        record = report.to_dict(shown.metric)
        print(json.dumps(record if comparison is None else {**record, "comparison": comparison.to_dict()}))
    elif shown.table is not None:
        print(report.table(shown.table, shown.metric), end="")
    else:
        print("\n".join(describe(report, comparison)))


def _words(text: str | None) -> list[str]:
    """The words of a comma-separated option; empty where it is not given."""
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _seeds(text: str | None) -> list[int]:
    """The seeds of ``--seed``; OptionError for a word that is no whole number."""
    for word in _words(text):
        if not word.isdecimal():
            raise OptionError(f"expected whole numbers such as 1,2,3, found {word!r}", where="--seed")
    return [int(word) for word in _words(text)]


def _processor(text: str | None) -> Processor:
    """The processor of ``--processor``; OptionError for a field that it does not have or a value that is no number."""
    from gridloom.flow.bench.processor import Processor
    from gridloom.flow.options import configure, parse_settings

    try:
        found: Processor = configure(Processor, parse_settings(_words(text)), "of the comparison", what="processor")
    except OptionError as error:
        raise OptionError(error.message, where="--processor") from None
    return found


def _figures(plots: list[str]) -> list[tuple[str, Path]]:
    """The figures that ``--plot`` asks for."""
    from gridloom.emit.plots import loops, suite

    return figure_files(plots, (*suite.FIGURES, *loops.FIGURES, "comparison"), "a suite")


def _draw(report: Report, wanted: list[tuple[str, Path]], metric: str | None) -> None:
    """Write the figures; one for which no cell has numbers is left out with a note."""
    from gridloom.emit.plots import loops, suite

    for figure, path in wanted:
        if figure == "comparison":
            text = suite.plot_comparison([asdict(row) for row in report.compare(metric)], report.suite)
        else:
            draw = loops.plot if figure in loops.FIGURES else suite.plot
            text = draw(report.rows, figure, report.suite)
        if text is None:
            note(f"{path} is not written: no cell has a number for it")
        else:
            write_and_tell({path: text})


def _folder(named: Path | None) -> Path | None:
    """The folder of published graphs: the one named, or that of the environment's ``GRIDLOOM_BENCHMARKS``.

    None where neither is given; OptionError for one that does not exist.
    """
    if named is None and os.environ.get("GRIDLOOM_BENCHMARKS"):
        named = Path(os.environ["GRIDLOOM_BENCHMARKS"])
    if named is not None and not is_dir(named):
        raise OptionError(f"there is no folder {named}", where="--folder")
    return named


def _run(suite: Suite, jobs: JobOptions, folder: Path | None, processor: Processor, more: bool) -> Report:
    """Run a suite, on the executor and with the store that the options ask for.

    With ``more``, another mapper has put its rows into the store. Ctrl-C ends it early; the report says so.
    """
    from gridloom.flow.bench.run import bench as run_suite

    executor = jobs.executor
    with jobs.open_store() as rows, display(sum(1 for _ in suite.cells())) as shown:
        return run_suite(
            suite,
            folder=folder,
            executor=executor,
            store=rows,
            resume=jobs.resume or more,
            progress=shown.run,
            processor=processor,
        )


def describe(report: Report, comparison: GoldenComparison | None) -> list[str]:
    """A report as lines of text: one for each cell, then the sums, then what changed.

    The sums are by array and, for suites of loops, by mapper and array; the last lines compare with golden results.
    """
    lines = [_cell_line(row) for row in report.rows]
    totals = report.summary
    for name, part in totals["archs"].items():
        lines.append(f"{name}: {_totals_words(part)}")
    lines += _loop_lines(totals.get("loops"))
    lines.append(f"{report.suite}: {_totals_words(totals)}" + (" (interrupted)" if report.interrupted else ""))
    if comparison is not None:
        lines += [f"worse: {change}" for change in comparison.worse]
        lines += [f"better: {change}" for change in comparison.better]
        ratios = ", ".join(f"{name} {value:.3f}" for name, value in comparison.ratios.items())
        lines.append(
            f"compared {comparison.compared} cells with golden results: {len(comparison.worse)} worse; {ratios}"
        )
    return lines


def _loop_lines(loops: Mapping[str, Any] | None) -> list[str]:
    """The loops that each mapper maps onto each array, and how the first mapper compares with the others.

    ``loops`` is that part of the summary which suites of modulo-scheduled loops have; empty for None. Ratios are over
    the loops that both mappers map.
    """
    if loops is None:
        return []
    lines = []
    for mapper, archs in loops["mappers"].items():
        for arch, part in archs.items():
            if part["mapped"]:
                figures = f"MII/II {part['mii_over_ii']:.3f}, {part['speedup']:.2f} times as fast as a processor"
            else:
                figures = "none to measure"
            lines.append(f"{mapper} on {arch}: {part['mapped']} of {part['cells']} loops, {figures}{_causes(part)}")
        lines += _search_lines(mapper, archs["all"].get("search"))
    first = next(iter(loops["mappers"]), "")
    for other, part in loops["ratios"].items():
        if part["speedup"] is not None:
            lines.append(
                f"{first}: {part['speedup']:.2f} times as fast as {other} on {part['cells']} loops that both map"
                f" ({part['energy']:.2f} of the energy), {part['with_processor']:.2f} times on all "
                f"{part['all_cells']} loops with unmapped ones on the processor"
            )
            found = part["comparison"]
            lines.append(
                f"{first} beside {other} by II: {found['verdict']} ({found['wins']} wins, {found['ties']} ties, "
                f"{found['losses']} losses, sign test p = {found['p_value']:.2g})"
            )
    return lines


def _causes(part: Mapping[str, Any]) -> str:
    """Why loops are unmapped, in words; empty where none is."""
    words = [f"{count} {name}" for name, count in part["unmapped"].items()]
    return f"; unmapped: {', '.join(words)}" if words else ""


def _search_lines(mapper: str, search: Mapping[str, Any] | None) -> list[str]:
    """What a mapper with routing strategies went through: medians over its loops, and the use of each strategy."""
    if search is None:
        return []
    shares = ", ".join(f"{name} {count / search['loops']:.0%}" for name, count in search["strategies"].items())
    return [
        f"{mapper}: medians {search['seconds']:.2f} s, {search['placements']:g} placements, {search['ops']:g} ops of "
        f"which {search['inserted']:g} inserted, {search['pairs']:g} (op, PE) pairs; loops that use a strategy: "
        f"{shares}"
    ]


def _peer_words(row: Mapping[str, Any]) -> str:
    """The II that other mappers published for the same graph and array, in brackets; empty where none is known."""
    peers = row.get("peers")
    return "  [" + ", ".join(f"{name} {value}" for name, value in peers.items()) + "]" if peers else ""


def _cell_line(row: Mapping[str, Any]) -> str:
    """One cell: its source, array and seed, then what was reached or why nothing was.

    ``row`` is a row of the report as :mod:`gridloom.flow.bench.run` makes it; columns are padded so that most tables
    align.
    """
    cell = row["cell"]
    head = f"{cell['source']:<32} {(row['arch'] or {}).get('name') or cell['arch']:<16} seed {cell['seed']:<3}"
    if row["status"] != "mapped":
        failure = row["failure"]
        reason = f"{failure['constraint']}: needs {failure['demand']}, has {failure['bound']}"
        return f"{head} failed  {reason}{_peer_words(row)}"
    buffers = row["buffers"] or {}
    return (
        f"{head} mapped  II {row['ii']}  latency {row['latency']}  wirelength {row['wirelength']}  "
        f"buffers {buffers.get('total')}  {row['seconds']:.2f} s{_peer_words(row)}"
    )


def _totals_words(part: dict[str, Any]) -> str:
    """The sums over some cells, as words."""
    median = part["median_elapsed"]
    whole = "" if median is None else f"; from source to checks: median {median:.2f} s per mapping"
    return (
        f"{part['mapped']} of {part['cells']} cells mapped, wirelength {part['wirelength']}, "
        f"buffers {part['buffers']}, {part['seconds']:.1f} s of search{whole}"
    )


def _status(suite: Suite, report: Report, comparison: GoldenComparison | None) -> int:
    """The exit status of a run.

    130 after Ctrl-C, 1 for a cell that is worse or for fewer mappings than the suite expects, else 0.
    """
    if report.interrupted:
        return 130
    if comparison is not None and comparison.worse:
        return 1
    expected = suite.expected.mapped
    if expected is not None and report.mapped < expected:
        note(f"{report.mapped} cells are mapped, the suite expects {expected}")
        return 1
    return 0
