"""The HTML report of a result or of a mapping: what ``gridloom map --html`` and ``gl.save`` write."""

from __future__ import annotations

from typing import Final

from gridloom import registry
from gridloom.flow.result import Result
from gridloom.flow.why.explanation import Explanation
from gridloom.mapping.model import Mapping

#: Fields of the record that a report lists as metrics; the rest is in its title, badges and command.
REPORTED: Final = (
    "mapper", "seed", "seconds", "ii", "mii", "res_mii", "rec_mii", "latency", "period", "throughput", "wirelength",
    "longest_wire", "placed_wirelength", "buffers", "width", "height", "tiles_used", "routing_tiles", "occupancy",
    "slots", "simd", "optimal", "bound", "proof", "found_by",
)  # fmt: skip
#: Those that mean something where there is no mapping.
_OF_A_FAILURE: Final = ("mapper", "seed", "seconds", "mii", "res_mii", "rec_mii")


def result_page(result: Result, *, command: str = "", why: Explanation | None = None) -> str:
    """The report of a result: of its mapping, or of why there is none.

    ``command`` is the one that gives the same result again. Without ``why``, the bounds are counted here. Linear in
    the mapping, the graph and the array, plus an MII for each change that is tried.
    """
    from gridloom.emit import failure_report, html_report

    record = result.to_dict()
    source = None if result.text is None else result.text.listing(result.dfg, result.remarks)
    told = (why or result.why(search=False)).to_dict()
    if result.mapping is None:
        if result.failure is None:
            raise ValueError("a result has a mapping or a failure")
        stats = {name: record[name] for name in _OF_A_FAILURE if record[name] is not None}
        return failure_report(
            result.dfg, result.arch, result.failure, stats=stats, command=command, source=source, why=told
        )
    stats = {name: record[name] for name in REPORTED if record.get(name) is not None}
    return html_report(
        result.mapping,
        stats=stats,
        verdict=record["verified"],
        command=command,
        source=source,
        why=told,
        card="".join(card(result) for card in registry.hooks_for("report_cards", result.arch)),
    )


def mapping_page(mapping: Mapping) -> str:
    """The report of a mapping without its result: it is checked and measured here, and not simulated."""
    from gridloom.emit import html_report
    from gridloom.flow.confirmation import illegalities, metrics
    from gridloom.flow.why.explanation import explain

    found = illegalities(mapping)
    told = explain(mapping.dfg, mapping.arch, mapping).to_dict()
    stats = {name: value for name, value in metrics(mapping).items() if value is not None}
    return html_report(mapping, stats=stats, verdict={"legal": not found}, command="", violations=found, why=told)
