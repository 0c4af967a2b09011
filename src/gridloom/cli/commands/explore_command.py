"""``gridloom explore`` maps a set of kernels onto many arrays and says which arrays are worth building.

A space file says what is varied and what is looked for: points (all arrays of the space, compared by Pareto
dominance), or one array found by a search over its buffers or its ops. The work is in :mod:`gridloom.explore`; this
module reads options, shows progress and writes files.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gridloom.cli.options import AsJson, GraphFolder, JobOptions, Named, Quiet, Weights
from gridloom.cli.outputs import check_folder, check_writable, write_and_tell
from gridloom.cli.progress import PATIENCE, note, shows_progress
from gridloom.errors import OptionError

if TYPE_CHECKING:
    from gridloom.explore import Exploration, Moment, Space


def explore(
    *,
    space: Annotated[
        Path, typer.Argument(metavar="SPACE", help="A YAML file that describes the arrays; see docs/explore.md.")
    ],
    jobs: JobOptions,
    folder: GraphFolder = None,
    source: Named = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a report with plots to this HTML file.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option("--figures", metavar="DIR", help="Write SVG and PNG figures to this folder.")
    ] = None,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write every row to this CSV file.")] = None,
    parquet: Annotated[
        Path | None,
        typer.Option("--parquet", metavar="FILE", help="Write every row to this Parquet file (needs pyarrow)."),
    ] = None,
    best: Annotated[
        Path | None,
        typer.Option("--best", metavar="FILE", help="Write the best array by the first objective to this YAML file."),
    ] = None,
    weights: Weights = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Map kernels onto every array of a space and compare the arrays.

    The exit status is 1 when no array keeps every constraint.
    """
    from gridloom.explore import array_yaml, best_arrays, read_space, to_dict
    from gridloom.explore.search import find_array

    jobs.check_store()
    if (csv or parquet) and jobs.store is None:
        raise OptionError("needs the rows in a store: --store FILE", where="--csv" if csv else "--parquet")
    check_writable(
        [("--store", jobs.store), ("--html", html), ("--csv", csv), ("--parquet", parquet), ("--best", best)]
    )
    if figures is not None:
        check_folder(figures, "--figures")
        figures.mkdir(parents=True, exist_ok=True)
    asked = read_space(space)
    if weights is not None:
        asked = asked.model_copy(update={"weights": str(weights)})
    if asked.find != "points":
        executor, resume = jobs.executor, jobs.resume
        with jobs.open_store() as rows:
            array = find_array(
                asked, folder=folder, named=source or (), executor=executor, store=rows, resume=resume, tell=note
            ).to_dict()
        return _show_array(asked, array, figures=figures, best=best, as_json=as_json)
    found = _run(asked, jobs, folder=folder, named=source or ())
    _export(jobs.store, csv, parquet)
    _draw(found, html, figures, f"gridloom explore {shlex.quote(str(space))}")
    chosen = best_arrays(found)
    if best is not None and chosen:
        write_and_tell({best: array_yaml(next(iter(chosen.values())))})
    print(json.dumps(to_dict(found)) if as_json else "\n".join(describe(found)))
    if found.interrupted:
        return 130
    return 0 if chosen else 1


def _show_array(space: Space, record: dict[str, Any], *, figures: Path | None, best: Path | None, as_json: bool) -> int:
    """Write and print the one array that a search for buffers or for operations ends with.

    The layout of FIFO depths is drawn only for a search for buffers; the other one has nothing to draw.
    """
    from gridloom.archs.described.text import yaml_text

    if best is not None:
        write_and_tell({best: yaml_text(record["array"])})
    if figures is not None and space.find == "buffers":
        from gridloom.explore import pictures

        title = f"FIFO cycles of each tile, {len(record['active'])} graphs: {record['registers']} registers"
        for file in pictures.save(
            pictures.heat_figure(record["array"]["fifo"]["layout"], title, "cycles"), figures, "fifo"
        ):
            note(f"wrote {file}")
    print(json.dumps(record) if as_json else "\n".join(_one_array_lines(space, record)))
    return 0


def _one_array_lines(space: Space, record: dict[str, Any]) -> list[str]:
    """The array that a search ended with, as lines of text, with what it saves over the uniform one.

    A search for buffers prints the depth of each tile's FIFO, row by row, with a dot for none; a search for
    operations prints how much is left of each feature that was taken away where no graph needs it.
    """
    array = record["array"]
    size = f"{array['family']}:{array['rows']}x{array['cols']}"
    if space.find == "buffers":
        saved = "" if record["saved"] is None else f", {record['saved']:.1%} saved"
        return [
            f"{space.explore}: {record['registers']} FIFO registers on {size} for {len(record['active'])} graphs",
            f"  uniform FIFOs of depth {record['uniform_depth']}: {record['uniform_registers']} registers{saved}",
            f"  {record['mappings']} mappings",
            *("  " + " ".join(f"{depth or '.'}" for depth in row) for row in array["fifo"]["layout"]),
        ]
    kept = ", ".join(f"{name} {part['left']} of {part['full']}" for name, part in record["kept"].items())
    lines = [
        f"{space.explore}: {size} runs {record['graphs']} graphs; the largest needs {record['bound']} tiles",
        f"  {kept}; {record['mappings']} mappings",
    ]
    if record["area"] is not None:
        lines.append(f"  area {record['area']:,.0f}, with everything everywhere {record['full_area']:,.0f}")
    return lines


def describe(found: Exploration) -> list[str]:
    """An exploration as lines of text: the Pareto front, what each step of a parameter changes, the best arrays.

    ``found`` may be that of an interrupted run; the lines then say so and hold for the arrays that were finished.
    """
    from gridloom.explore import best_arrays, explain_empty, front, sensitivity
    from gridloom.explore.points import mapping_chances

    names = found.space.objectives
    best = front(found.points, names)
    lines = [
        f"{found.space.explore}: {len(found.points)} arrays, {len(found.kernels)} kernels, {found.jobs} mappings, "
        f"{found.seconds:.1f} s" + (" (interrupted)" if found.interrupted else "")
    ]
    feasible = sum(one.feasible for one in found.points)
    if found.space.constraints:
        lines.append(f"  {feasible} keep {' and '.join(found.space.constraints)}")
    if found.space.skip is not None:
        skipping = found.skipping
        lines.append(
            f"  {skipping.skipped} mappings skipped as hopeless; {skipping.mapped_after_all} of {skipping.sampled} "
            "tried all the same did map"
        )
    lines.append(f"front ({', '.join(names)}):")
    lines += [f"  {one.point.name}: {_figures(one.figures, names, one.intervals)}" for one in best]
    if not best:
        lines.append(f"  empty: {explain_empty(found)}")
    unsure = [
        f"  {kernel} on {one.point.name}: {chance}"
        for one in best
        for kernel, chance in mapping_chances(one.rows).items()
        if 0 < chance.mapped < chance.tried
    ]
    if unsure:
        lines += ["mapped by some seeds only:", *unsure]
    steps = sensitivity(found)
    if steps:
        lines.append("steps:")
        lines += [f"  {step.sentence()} ({step.pairs} pairs)" for step in steps]
    chosen = best_arrays(found)
    if chosen:
        lines.append("best:")
        lines += [f"  {name}: {one.point.name} ({_figures(one.figures, [name])})" for name, one in chosen.items()]
    return lines


def _figures(figures: Any, names: Any, intervals: Mapping[str, tuple[float, float]] | None = None) -> str:
    """The named figures of an array, as words, with their intervals over the seeds."""
    words = []
    for name in names:
        low, high = (intervals or {}).get(name, (None, None))
        spread = "" if low is None else f" ({_number(low)} to {_number(high)})"
        words.append(f"{name} {_number(figures.get(name))}{spread}")
    return ", ".join(words)


def _number(value: float | None) -> str:
    """A figure as text: whole from 1000 on, else four digits; ``-`` for none."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _run(space: Space, jobs: JobOptions, *, folder: Path | None, named: Sequence[str]) -> Exploration:
    """Explore a space with the executor and the store that the options ask for, under the dashboard."""
    from gridloom.explore import explore as run_space

    executor, resume = jobs.executor, jobs.resume
    with dashboard(space) as shown, jobs.open_store() as rows:
        return run_space(
            space, folder=folder, named=named, executor=executor, store=rows, resume=resume, progress=shown
        )


def _export(store: Path | None, csv: Path | None, parquet: Path | None) -> None:
    """Write the rows of the store as tables."""
    from gridloom.run import Store, export_csv, export_parquet

    if store is None:
        return
    for path, write in ((csv, export_csv), (parquet, export_parquet)):
        if path is not None:
            with Store(store, readonly=True) as rows:
                note(f"wrote {write(rows, path)} rows to {path}")


def _draw(found: Exploration, html: Path | None, folder: Path | None, command: str) -> None:
    """Write the HTML report and the figures that are asked for; ``command`` is shown in the report."""
    if html is not None:
        from gridloom.explore.page import html_page

        write_and_tell({html: html_page(found, command)})
    if folder is not None:
        from gridloom.explore import pictures

        for name, figure in pictures.figures(found).items():
            for file in pictures.save(figure, folder, name):
                note(f"wrote {file}")


@contextmanager
def dashboard(space: Space) -> Iterator[Any]:
    """On terminals, a panel with progress, rate, time left and the best array so far; elsewhere nothing.

    Yields the callback that takes the moments of an exploration, or None. The panel appears after ``PATIENCE``
    seconds.
    """
    if not shows_progress():
        yield None
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), transient=True, refresh_per_second=4) as live:

        def show(moment: Moment) -> None:
            if moment.jobs.elapsed >= PATIENCE:
                live.update(panel(space, moment))

        yield show


def panel(space: Space, moment: Moment) -> Any:
    """One state of the dashboard, as a rich panel."""
    from rich.panel import Panel
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    jobs = moment.jobs
    table = Table.grid(padding=(0, 2))
    table.add_row(
        "mappings", f"{jobs.done:,} of {jobs.total or 0:,}", ProgressBar(jobs.total or 1, jobs.done, width=32)
    )
    left = "-" if jobs.eta is None else f"{jobs.eta:.0f} s left"
    table.add_row("rate", f"{jobs.rate:.1f} per second", left)
    table.add_row("points", f"{moment.points:,} of {moment.planned:,}", f"{jobs.skipped:,} rows from the store")
    if moment.best is not None:
        table.add_row("best so far", moment.best.point.name, _figures(moment.best.figures, space.objectives))
    return Panel(table, title=space.explore, expand=False)
