"""``gridloom bench area`` prints a table of what arrays cost in hardware.

It is a suite of its own kind: Yosys synthesises each array's units, and nothing is mapped. Results are kept under
``~/.cache/gridloom/area``, since synthesis takes minutes. The work is in :mod:`gridloom.flow.bench.area`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from gridloom.cli.outputs import figure_files, write_all
from gridloom.cli.progress import display, note
from gridloom.errors import OptionError

if TYPE_CHECKING:
    from gridloom.flow.bench.area import AreaReport


def bench_area(suite: str, csv: Path | None, plots: list[str], as_json: bool) -> int:
    """Run the area benchmark of suite ``area``, ``area:intel`` or ``area:xilinx``; print a table or JSON.

    ``plots``: FILE.svg for all figures in one picture, FIGURE=FILE.svg for one of them.
    """
    from gridloom.flow.bench.area import bench_area as run
    from gridloom.flow.bench.area_plots import figures, plot

    target = suite.partition(":")[2] or "gates"
    if target not in ("gates", "intel", "xilinx"):
        raise OptionError(f"area: expected area, area:intel or area:xilinx, found {suite!r}")
    wanted = figure_files(plots, figures(target), target)
    cache = Path.home() / ".cache" / "gridloom" / "area"
    with display() as shown:
        # A flat array of LUTs takes Yosys longer than everything else together.
        flat = target != "xilinx"
        report = run(target, cache=cache, flat=flat, progress=lambda array: shown.update(array, 0))  # type: ignore[arg-type]
    texts = {} if csv is None else {csv: _table(report)}
    texts |= {path: plot(report, figure) for figure, path in wanted}
    if texts:
        write_all(texts)
        note("wrote " + ", ".join(str(path) for path in texts))
    print(json.dumps(_record(suite, report)) if as_json else "\n".join(lines(report)))
    return 0


def _record(suite: str, report: AreaReport) -> dict[str, object]:
    """A report as plain data, for ``--json``."""
    return {
        "suite": suite, "target": report.target, "rows": [row.to_dict() for row in report.rows],
        "flat_ratio": report.flat_ratio, "growth": report.growth, "published": report.published,
        "model": {"error": report.model.error, "units": report.model.units, "weights": report.model.weights},
    }  # fmt: skip


def _table(report: AreaReport) -> str:
    """The rows of a report as CSV; names of arrays contain commas and stand in quotes."""
    rows = [",".join(["target", *report.rows[0].to_dict()])]
    for row in report.rows:
        values = [str(value) for value in row.to_dict().values()]
        rows.append(",".join([report.target, f'"{values[0]}"', *values[1:]]))
    return "\n".join(rows) + "\n"


def lines(report: AreaReport) -> list[str]:
    """A report as lines of text: one for each array, then what holds for all of them."""
    unit = {"gates": "NAND2", "intel": "ALM halves", "xilinx": "LUTs"}[report.target]
    text = [f"{report.target} ({unit})"]
    for row in report.rows:
        share = f"  registers {row.register_share:.0%}" if report.target == "gates" else ""
        share += f"  {row.blocks:,} multiplier blocks" if row.blocks else ""
        ratio = f"{row.ratio:.3f}" if row.ratio else "     "
        text.append(f"  {row.array:<64} {row.tiles:>5} tiles  {row.area:>12,.0f}  {ratio}{share}")
    if report.flat_ratio is not None:
        text.append(f"  flat 4x4 mesh over the sum of its units: {report.flat_ratio:.3f}")
    text.append(f"  9x9 to 18x18: {report.growth:.2f}; published: {report.published}")
    text.append(f"  model: {report.model.error:.1%} mean error on {report.model.units} units left out one by one")
    return text
