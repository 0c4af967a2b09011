"""The generator of ``docs/results``: a page for each template in ``benchmarks/pages``, from what ``results`` holds.

A template is YAML: ``title``, ``text`` (prose without figures), and ``exhibits``, the tables and figures of a paper in
its order. An exhibit has ``item``, ``shows``, ``published``, and either ``reason`` (why there is no run) or ``claim``
with ``ours`` (a text in which ``{name}`` is a figure of the claim), ``rules`` (what differs) and ``loses``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from benchmarks import headline, records
from benchmarks.catalogue import all_claims
from benchmarks.claim import REPOSITORY, Claim, Row, Rows
from gridloom.text_file import read_text

TEMPLATES = Path(__file__).parent / "pages"
FOLDER = REPOSITORY / "docs" / "results"
#: Longer tables are cut; the file of the result has all rows.
MOST_ROWS = 60
#: What the generator says of a result whose sources have changed; pages are compared without it.
STALE = re.compile(r" \*\*Stale:[^*]*\*\*")
_HIDDEN = ("digest", "settings", "effort", "optimal", "bound", "objective")


def write_pages(*, check: bool = False) -> list[Path]:
    """Write the pages and pictures that differ from what is there, apart from staleness; return their paths."""
    changed = []
    for path, text in {**make_pages(), **headline.make_pages()}.items():
        old = path.read_text(encoding="utf-8") if path.is_file() else ""
        if STALE.sub("", old) != STALE.sub("", text):
            changed.append(path)
        if old != text and not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return changed


def make_pages() -> dict[Path, str]:
    """Return path -> text of every page and picture."""
    texts: dict[Path, str] = {}
    for path in sorted(TEMPLATES.glob("*.yaml")):
        texts[FOLDER / f"{path.stem}.md"] = make_page(path.stem, read_template(path))
    for claim in all_claims().values():
        shown = records.shown_run(claim)
        if shown and claim.picture:
            texts[picture_file(claim)] = claim.picture(shown[1]["rows"])
    return texts


def read_template(path: Path) -> Row:
    """Return a template."""
    from ruamel.yaml import YAML

    found: Row = YAML(typ="safe").load(read_text(path))
    return found


def picture_file(claim: Claim) -> Path:
    """Return the file of a claim's picture."""
    return FOLDER / f"{claim.name.replace('/', '-')}.svg"


def make_page(suite: str, template: Row) -> str:
    """Return the Markdown of a page."""
    claims = [claim for claim in all_claims().values() if claim.suite == suite]
    parts = [f"# {template['title']}", "<!-- Written by `python -m benchmarks pages`; edit the template. -->",
             template["text"].strip()]  # fmt: skip
    if template.get("exhibits"):
        parts.append(exhibit_table(template["exhibits"]))
    for claim in claims:
        parts += claim_section(claim)
    return "\n\n".join(parts) + "\n"


def exhibit_table(exhibits: list[Row]) -> str:
    """Return the table of a paper's tables and figures."""
    rows = []
    for exhibit in exhibits:
        claim = all_claims()[exhibit["claim"]] if "claim" in exhibit else None
        shown = records.shown_run(claim) if claim else None
        row = {"in the paper": exhibit["item"], "shows": exhibit["shows"], "published": exhibit.get("published", "")}
        if claim and shown:
            link = f"[{claim.name}](#{anchor(claim)})"
            ours = fill_in(exhibit.get("ours", ""), figures(claim, shown[1]["rows"]))
            row |= {"ours": f"{ours} ({shown[0]} run)", "command": link, "same rules": exhibit["rules"],
                    "where we lose": fill_in(exhibit.get("loses", ""), figures(claim, shown[1]["rows"]))}  # fmt: skip
        else:
            reason = exhibit.get("reason", "the run has not been made")
            row |= {"ours": f"not run: {reason}", "command": f"`{claim.command(False)}`" if claim else "",
                    "same rules": exhibit.get("rules", ""), "where we lose": ""}  # fmt: skip
        rows.append(row)
    return markdown(rows)


def fill_in(text: str, values: Row) -> str:
    """Return a text with figures in the place of their names; a figure that is not there is a dash."""
    return re.sub(r"\{([^}]+)\}", lambda match: text_of(values.get(match[1])), text)


def figures(claim: Claim, rows: Rows) -> Row:
    """Return the figures of a claim: its own, the number of rows, and sentences about rivals."""
    return {"rows": len(rows), **(claim.figures(rows) if claim.figures else {})}


def anchor(claim: Claim) -> str:
    """Return the anchor of a claim's section."""
    return claim.name.replace("/", "")


def claim_section(claim: Claim) -> list[str]:
    """Return heading, origin, table, sentences and picture of a claim."""
    shown = records.shown_run(claim)
    head = [f"## {claim.name}", f"{claim.measures[0].upper()}{claim.measures[1:]}."]
    if shown is None:
        return [*head, f"Not run. Command: `{claim.command(False)}`."]
    variant, run = shown
    rows: Rows = run["rows"]
    table = list(claim.table(rows)) if claim.table else [hide(row) for row in rows]
    cut = [f"The first {MOST_ROWS} of {len(table)} rows."] if len(table) > MOST_ROWS else []
    said = [f"- {line}" for line in claim.verdicts(rows)] if claim.verdicts else []
    drawn = [f"![{claim.measures}]({picture_file(claim).name})"] if claim.picture else []
    return [*head, markdown(table[:MOST_ROWS]), *cut, *(["\n".join(said)] if said else []), *drawn,
            origin(claim, variant, run)]  # fmt: skip


def origin(claim: Claim, variant: str, run: records.Run) -> str:
    """Return where the figures come from."""
    seeds = f", seeds {', '.join(map(str, run['seeds']))}" if run["seeds"] else ""
    stale = " **Stale: a module that the result depends on has changed.**" if records.is_stale(claim, run) else ""
    cost = "" if run["cpu_seconds"] is None else f", {run['cpu_seconds']:g} CPU s"
    return (f"`{run['command']}` ({variant} run of {run['date']}, version {run['version']}, {run['machine']}"
            f"{seeds}{cost}).{stale}")  # fmt: skip


def hide(row: Row) -> Row:
    """Return a row without the columns that a page does not show."""
    return {name: value for name, value in row.items() if name not in _HIDDEN}


def markdown(rows: Rows) -> str:
    """Return rows as a table; columns that are empty in all rows are left out."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    kept = [name for name in names if any(row.get(name) not in (None, "") for row in rows)]
    lines = [kept, ["---"] * len(kept), *([text_of(row.get(name)) for name in kept] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def text_of(value: Any) -> str:
    """Return a value as the text of a cell."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".") if abs(value) < 1e6 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value).replace("|", "\\|")
