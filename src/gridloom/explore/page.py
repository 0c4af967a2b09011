"""The report of an exploration: one HTML file without scripts that opens offline.

The page is a template with named slots (``assets/page.html``); figures are inlined as SVG, so that the file needs
nothing beside it. All text from the user is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import resources

from gridloom.emit.picture.text import escape
from gridloom.explore.answers import array_yaml, best_arrays, explain_empty, front, kernel_fronts, sensitivity
from gridloom.explore.clock import held_out, runs
from gridloom.explore.hardware import load_hardware_model
from gridloom.explore.pictures import figures, point_titles, svg_text
from gridloom.explore.points import Evaluated, mapping_chances
from gridloom.explore.search import Exploration

_SLOT = re.compile(r"\{\{(\w+)\}\}")
_CAPTIONS = {"front": "Objectives against each other", "sensitivity": "What each step of a parameter changes"}


def html_page(exploration: Exploration, command: str) -> str:
    """Return the report as HTML text. Needs matplotlib for the figures.

    Linear in points and kernels, except for the front.
    """
    space = exploration.space
    best = front(exploration.points, space.objectives)
    titles = point_titles(exploration.points, space.objectives)
    pictures = [
        f'<section class="card picture"><h2>{_CAPTIONS[name]}</h2>{svg_text(figure, titles)}</section>'
        for name, figure in figures(exploration).items()
    ]
    fields = {
        "title": escape(space.explore),
        "summary": escape(_summary(exploration)),
        "badges": _badges(exploration, best),
        "style": _asset("gridloom.emit.report", "report.css") + _asset("gridloom.explore", "page.css"),
        "figures": "".join(pictures),
        "front": _table(best, exploration),
        "kernels": _kernels(exploration),
        "steps": _steps(exploration),
        "best": _best(exploration),
        "points": _table(exploration.points, exploration, marked=best),
        "notes": _notes(exploration, command),
    }
    return _SLOT.sub(lambda slot: fields[slot.group(1)], _asset("gridloom.explore", "page.html"))


def _asset(package: str, name: str) -> str:
    """Return the text of a file that comes with a package."""
    return resources.files(package).joinpath("assets", name).read_text(encoding="utf-8")


def _summary(exploration: Exploration) -> str:
    """Return the line below the title: how many arrays, kernels and mappings, and how long they took."""
    counts = f"{len(exploration.points)} arrays, {len(exploration.kernels)} kernels, {exploration.jobs} mappings"
    words = f"{counts}, {exploration.seconds:.1f} s"
    return f"{exploration.space.summary} - {words}" if exploration.space.summary else words


def _badges(exploration: Exploration, best: Sequence[Evaluated]) -> str:
    """The short statements in the page's head."""
    feasible = sum(one.feasible for one in exploration.points)
    texts = [("good" if best else "bad", f"{len(best)} on the front")]
    texts.append(("good" if feasible else "bad", f"{feasible} of {len(exploration.points)} meet every constraint"))
    if exploration.interrupted:
        texts.append(("open", "stopped early"))
    return "".join(f'<li class="badge-{kind}">{text}</li>' for kind, text in texts)


def _table(points: Sequence[Evaluated], exploration: Exploration, marked: Sequence[Evaluated] = ()) -> str:
    """A table of points with their objectives and constraints; ``marked`` points stand out."""
    names = list(dict.fromkeys([*exploration.space.objectives, *(limit.name for limit in exploration.space.limits)]))
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in names)
    # Points hold dictionaries and cannot be hashed; the same objects are in both lists.
    best = {id(one) for one in marked}
    rows = []
    for one in points:
        kind = "best" if id(one) in best else "" if one.feasible else "out"
        cells = "".join(f"<td>{_number(one.figures.get(name))}{_interval(one, name)}</td>" for name in names)
        note = f" ({escape(one.broken)})" if one.broken else ""
        rows.append(f'<tr class="{kind}"><td>{escape(one.point.name)}{note}</td>{cells}</tr>')
    if not rows:
        return f"<p>{escape(explain_empty(exploration))}</p>"
    return f"<table><thead><tr><th>array</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _interval(one: Evaluated, name: str) -> str:
    """The interval of a figure over the seeds; nothing where there is none."""
    if name not in one.intervals:
        return ""
    low, high = one.intervals[name]
    return f' <small title="95 % interval over the seeds">{_number(low)} to {_number(high)}</small>'


def _kernels(exploration: Exploration) -> str:
    """The Pareto front of each kernel, with how many seeds map it on each array of the front."""
    names, rows = exploration.space.objectives, []
    for kernel, best in kernel_fronts(exploration).items():
        for k, one in enumerate(best):
            chance = mapping_chances(one.rows).get(kernel)
            cells = "".join(f"<td>{_number(one.figures.get(name))}{_interval(one, name)}</td>" for name in names)
            head = f'<th scope="rowgroup" rowspan="{len(best)}">{escape(kernel)}</th>' if k == 0 else ""
            rows.append(f"<tr>{head}<td>{escape(one.point.name)}</td><td>{chance or '-'}</td>{cells}</tr>")
    if not rows:
        return "<p>No kernel has a front.</p>"
    heads = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in ("kernel", "array", "mapped by", *names))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _steps(exploration: Exploration) -> str:
    """Return the list of what each step of a parameter changes."""
    items = "".join(f"<li>{escape(step.sentence())}</li>" for step in sensitivity(exploration))
    return f'<ul class="steps">{items}</ul>' if items else "<p>No two points differ in one parameter alone.</p>"


def _best(exploration: Exploration) -> str:
    """The best array of each objective as YAML, folded."""
    parts = []
    for name, one in best_arrays(exploration).items():
        head = f"{name.replace('_', ' ')}: {one.point.name} ({_number(one.figures[name])})"
        parts.append(f"<details><summary>{escape(head)}</summary><pre>{escape(array_yaml(one))}</pre></details>")
    return "".join(parts) or f"<p>{escape(explain_empty(exploration))}</p>"


def _notes(exploration: Exploration, command: str) -> str:
    """The command and how the figures are computed."""
    model, errors = load_hardware_model(), held_out()
    skipping = exploration.skipping
    lines = [
        f"<code>{escape(command)}</code>",
        "Every mapping that counts is legal and simulated; figures other than the share of mapped kernels are over the "
        "kernels that map.",
        f"Area: a linear model fitted to {model['area']['units']} synthesised units, {model['area']['error']:.1%} mean "
        f"error on units left out. Logic levels: {model['levels']['error']:.1%} on {model['levels']['units']} units.",
        f"Energy: what switches in a simulated run, in pJ for {exploration.space.iterations} iterations.",
        f"LUTs and clock: linear models fitted to {len(runs())} arrays placed on an ECP5, {errors.luts:.1%} and "
        f"{errors.mhz:.1%} mean error on arrays left out. Gops = ops x clock / II.",
    ]
    if exploration.space.skip is not None:
        lines.append(
            f"{skipping.skipped} mappings were skipped as hopeless; of {skipping.sampled} hopeless ones tried all the "
            f"same, {skipping.mapped_after_all} mapped."
        )
    return "".join(f"<p>{line}</p>" for line in lines)


def _number(value: float | None) -> str:
    """Return a figure for a table: whole numbers with thousands separators, small ones to four digits."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
