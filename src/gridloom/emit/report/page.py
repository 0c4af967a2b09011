"""The report: one HTML file that opens offline and shows a mapping, its timing, its graph and its metrics.

Page, style and script are files of the package; everything a user named goes in escaped, and the page's policy lets no
script run but ours.

Cards without contents are left out (source, pipeline, violations), so one template serves all families. A broad array
gets a row of its own, a square one shares it with the graph. A large mapping has a page that draws tiles on demand
(:mod:`gridloom.emit.report.large_page`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping as MappingABC
from collections.abc import Sequence
from typing import Any

from gridloom.emit.details import Details
from gridloom.emit.picture import palette
from gridloom.emit.picture.array import picture, summary
from gridloom.emit.picture.graph import graph_picture
from gridloom.emit.picture.text import escape
from gridloom.emit.report.bundle import bundle, drawing_modules
from gridloom.emit.report.data import flat_facts, report_data, script_json, timeline
from gridloom.emit.report.large_page import is_large, large_body, large_data
from gridloom.emit.report.source_listing import SourceListing, listing_card
from gridloom.emit.report.template import aspect, asset, badge, fill_template, page, rows, why_card
from gridloom.mapping import json_format
from gridloom.mapping.model import Mapping


def html_report(
    mapping: Mapping,
    *,
    stats: MappingABC[str, Any],
    verdict: MappingABC[str, Any],
    command: str,
    violations: Sequence[str] = (),
    source: SourceListing | None = None,
    card: str = "",
    why: MappingABC[str, Any] | None = None,
) -> str:
    """The report of a mapping as HTML text.

    ``stats``: metrics by name, nested ones allowed. ``verdict``: what is known of it, ``{"legal": bool, "simulated":
    bool}``; a missing or None entry reads "not checked". ``command`` reproduces the mapping. ``violations``: what the
    checker found, one line each. ``source``: the text that the graph was made of. ``card``: HTML of further cards.
    ``why``: what bounds the result and what would help, as plain data. Linear in the size of the mapping; nothing is
    fetched when it is opened.
    """
    details = Details(mapping)
    large = is_large(details)
    # The policy of the page carries the hash of exactly this text.
    entry = "large.js" if large else "report.js"
    script = bundle(entry, {**drawing_modules(), entry: asset(entry)})
    fields = {
        "violations": _violations(violations) + why_card(why),
        "source": listing_card(source, mapping.dfg),
        "metrics": rows(flat_facts(stats)),
        "provenance": rows(flat_facts(mapping.provenance)),
        "command": escape(command),
        "data": script_json(large_data(details) if large else report_data(details)),
        "mapping": script_json(json_format.dumps(mapping)),
        "file": escape(
            re.sub(r"[^\w.-]+", "-", f"{mapping.dfg.name}-{mapping.arch.name}").strip("-")[:80] or "mapping"
        ),
    }
    return page(
        f"{mapping.dfg.name} on {mapping.arch.name}",
        summary=summary(details),
        badges=_badges(verdict),
        body=large_body(fields, details, script) if large else _body(fields, details, card, script),
        script=script,
    )


def _body(fields: MappingABC[str, str], details: Details, card: str, script: str) -> str:
    """The body of a page with pictures of the whole array and the whole graph."""
    array = picture(details, live=True)
    more = {
        "array": array,
        "span": "wide" if aspect(array) > 1.35 else "half",
        "graph": graph_picture(details.dfg, live=True),
        "load": card,
        "unit": escape(timeline(details)["unit"]),
        "last": str(timeline(details)["last"]),
        "heat": "".join(f'<i style="background:{colour}"></i>' for colour in palette.HEAT),
        "script": script,
    }
    return fill_template(asset("report.html"), {**fields, **more})


def _badges(verdict: MappingABC[str, Any]) -> str:
    """The badges of the header; what is not known reads "not checked", never as a success."""
    known = {"mapped": True, "legal": verdict.get("legal"), "simulated": verdict.get("simulated")}
    parts = []
    for name, value in known.items():
        kind, mark, words = ("open", "?", f"{name}: not checked")
        if value is not None:
            kind, mark, words = ("good", "✓", name) if value else ("bad", "✗", f"not {name}")
        parts.append(badge(kind, mark, words))
    return "".join(parts)


def _violations(violations: Sequence[str]) -> str:
    """The card of violations, the first 200 of them; empty where there are none."""
    if not violations:
        return ""
    shown = "".join(f"<li>{escape(line)}</li>" for line in violations[:200])
    more = f"<p>and {len(violations) - 200} more</p>" if len(violations) > 200 else ""
    count = f"{len(violations)} violation{'s' * (len(violations) > 1)}"
    return (
        f'<section class="card alarm" aria-labelledby="h-v"><h2 id="h-v">{count}</h2><ul>{shown}</ul>{more}</section>'
    )
