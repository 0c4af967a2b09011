"""The report of a search that found no mapping: which constraint stands in the way, and where it is tight.

It is made of a :class:`~gridloom.mapping.model.Failure`, which names a constraint with demand, bound and levers. There
is no script in it: nothing can be played back.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from collections.abc import Sequence
from typing import Any

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.emit.picture import palette
from gridloom.emit.picture.array import arch_summary
from gridloom.emit.picture.graph import graph_picture
from gridloom.emit.picture.text import escape
from gridloom.emit.report.congestion import congestion_picture
from gridloom.emit.report.data import flat_facts
from gridloom.emit.report.source_listing import SourceListing, listing_card
from gridloom.emit.report.template import aspect, asset, badge, fill_template, page, rows
from gridloom.mapping.model import Failure


def failure_report(
    dfg: Dfg,
    arch: Arch,
    failure: Failure,
    *,
    stats: MappingABC[str, Any],
    command: str,
    source: SourceListing | None = None,
    why: MappingABC[str, Any] | None = None,
) -> str:
    """The page as HTML text: the constraint, what it needs and has, what would help, and the congested places.

    ``stats``: what is known of the search, by name. ``command`` repeats it. ``source``: the text that the graph was
    made of. ``why``: what forbids a mapping and what would help, as plain data. Linear in the graph and the array;
    nothing is fetched when it is opened.
    """
    array = congestion_picture(arch, failure.congested)
    fields = {
        "reason": _reason(failure, why),
        "array": array,
        "span": "wide" if aspect(array) > 1.35 else "half",
        "caption": _caption(failure),
        "graph": graph_picture(dfg, live=False),
        "source": listing_card(source, dfg),
        "metrics": rows(flat_facts(stats)),
        "command": escape(command),
        "again": "" if command else "hidden",
    }
    heading = f"{dfg.name} on {arch.name}"
    return page(
        heading,
        title=f"{heading}: no mapping",
        summary=f"{len(dfg.nodes)} nodes · {len(dfg.edges)} edges · {arch_summary(arch)}",
        badges=badge("bad", "✗", "not mapped"),
        body=fill_template(asset("failure.html"), fields),
    )


def _reason(failure: Failure, why: MappingABC[str, Any] | None) -> str:
    """The failure as a table, the bounds that forbid a mapping; levers that were tried, and suggestions."""
    facts = [("constraint", failure.constraint), ("it needs", failure.demand), ("there is", failure.bound)]
    if failure.conflicts is not None:
        facts.append(("conflicts left by the best try", str(failure.conflicts)))
    table = f'<table id="reason"><tbody>{rows(facts)}</tbody></table>'
    if why is not None:
        bounds = [reason["text"] for reason in why["reasons"] if reason["binding"]]
        table += _list("bounds", "What forbids it", bounds)
        tried = [f"{lever['change']}: {lever['gain']}" for lever in why["levers"]]
        table += _list("levers", "What would help, tried", tried)
    return table + _list("suggestions", "What the mapper suggests, untried", failure.levers)


def _list(name: str, heading: str, lines: Sequence[str]) -> str:
    """A list under a heading; nothing where it is empty."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<h3>{heading}</h3><ul id="{name}">{items}</ul>' if items else ""


def _caption(failure: Failure) -> str:
    """The caption of the congestion picture: what the numbers and colours mean, and the names behind the numbers."""
    if not failure.congested:
        return "The failure does not depend on a place of the array: no resource is marked."
    # The palest colour is left out, since no marked place has it.
    scale = "".join(f'<i style="background:{colour}"></i>' for colour in palette.HEAT[1:])
    names = ", ".join(f"{k}&nbsp;{escape(name)}" for k, name in enumerate(failure.congested, 1))
    return (
        "The numbered places are those that signals competed for most; 1 is the worst. "
        f'<span class="scale"><span>mild</span>{scale}<span>hot</span></span><br>{names}'
    )
