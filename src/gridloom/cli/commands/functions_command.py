"""``gridloom bench`` of a suite of whole functions: a table of cycles and of what they are spent on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridloom.cli.outputs import write_and_tell
from gridloom.cli.progress import display, note

if TYPE_CHECKING:
    from gridloom.flow.bench.functions.run import FunctionReport
    from gridloom.flow.bench.functions.suite import FunctionSuite
    from gridloom.run import ExecutorSpec

_SPENT = ("data movement", "configuration", "live-ins and live-outs", "II x iterations", "fill and drain", "host")


def bench_functions(
    suite: FunctionSuite, folder: Path | None, executor: ExecutorSpec, csv: Path | None, as_json: bool
) -> int:
    """Run a suite of functions and print its rows. The exit status is 1 where a value differs or a function fails."""
    from gridloom.flow.bench.functions.run import bench_functions as run

    with display(sum(1 for _ in suite.cells())) as shown:
        report = run(suite, folder=folder, executor=executor, progress=shown.run)
    if csv is not None:
        write_and_tell({csv: table(report)})
    print(json.dumps(report.to_dict()) if as_json else "\n".join(lines(report)))
    if report.interrupted:
        return 130
    wrong = len(report.rows) - report.equal
    if wrong:
        note(f"{wrong} cells differ from compiled code or failed")
    return int(bool(wrong))


def table(report: FunctionReport) -> str:
    """The rows of a report as CSV."""
    head = ["source", "arch", "status", "data_sets", "cycles", "ideal", "single_issue", *_SPENT, "verified"]
    text = [",".join(name.replace(" ", "_") for name in head)]
    for row in report.rows:
        spent = [row["breakdown"].get(name, "") for name in _SPENT]
        values = [row["cell"]["source"], f'"{row["cell"]["arch"]}"', row["status"], row["equal"], row["cycles"]]
        values += [row["ideal"], row["single_issue"], *spent, row["verified"]]
        text.append(",".join("" if value is None else str(value) for value in values))
    return "\n".join(text) + "\n"


def lines(report: FunctionReport) -> list[str]:
    """A report as lines of text: one for each function and array, then what holds for all of them."""
    from gridloom.flow.bench.functions.run import summary

    text = [_line(row) for row in report.rows]
    figures = summary(report.rows)
    for arch, part in [*figures["archs"].items(), (report.suite, figures)]:
        median = (
            "" if part["median_verified"] is None else f"; from source to verified: {part['median_verified']:.2f} s"
        )
        text.append(
            f"{arch}: {part['equal']} of {part['cells']} functions equal compiled code on {part['data_sets']} sets of "
            f"data; {part['speedup'] or 0:.2f} times as fast as a single-issue processor, "
            f"{part['over_ideal'] or 0:.2f} times II x iterations{median}"
        )
    return text


def _line(row: Mapping[str, Any]) -> str:
    """One function on one array."""
    head = f"{row['cell']['source']:<40} {row['cell']['arch']:<10} {row['status']:<9}"
    if row["status"] == "failed":
        return f"{head} {row['difference']}"
    intervals = ",".join(str(loop["ii"]) for loop in row["loops"] if loop["ii"] is not None) or "-"
    spent = ", ".join(f"{name} {row['breakdown'][name]}" for name in _SPENT if row["breakdown"].get(name))
    tail = f"  {row['difference']}" if row["difference"] else ""
    return f"{head} {row['cycles']:>6} cycles of {row['single_issue']:>6}  II {intervals:<12} {spent}{tail}"
