"""``gridloom map`` turns options into a request, and its result into text, JSON and files.

What is done with a request is in :mod:`gridloom.flow`, for the command line and for Python alike; this module adds
progress, Ctrl-C, files and words.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gridloom.cli.options import (
    Arch,
    AsJson,
    AssumeRange,
    CompilerOptions,
    CpuLimit,
    DeviceName,
    Effort,
    LoopOptions,
    Mapper,
    Observed,
    Quiet,
    Seed,
    Settings,
    Source,
    SpokeRam,
    Svg,
    TimeLimit,
    Weights,
    Workers,
)
from gridloom.cli.outputs import check_writable, write_and_tell
from gridloom.cli.progress import display, first_interrupt_asks

if TYPE_CHECKING:
    from gridloom.compiler.loops.source_name import SourceName
    from gridloom.flow import Request, Result
    from gridloom.flow.why.explanation import Explanation
    from gridloom.mapping.model import Mapping


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """How a mapping is searched: the fields of a request, and the device, which is a setting there."""

    mapper: Mapper = "auto"
    ii: Annotated[
        int | None, typer.Option("--ii", metavar="N", help="For modulo-scheduled arrays: the II to map at.")
    ] = None
    seed: Seed = 0
    time_limit: TimeLimit = None
    cpu_limit: CpuLimit = None
    effort: Effort = None
    jobs: Workers = 1
    device: DeviceName = None
    weights: Weights = None
    settings: Settings = None
    place: Annotated[
        Path | None, typer.Option("--place", metavar="FILE", help="Take this complete placement; route and balance it.")
    ] = None
    init: Annotated[
        Path | None, typer.Option("--init", metavar="FILE", help="Start the search from this placement.")
    ] = None
    pin: Annotated[
        Path | None,
        typer.Option("--pin", metavar="FILE", help="Keep nodes on the tiles or within the regions of the file."),
    ] = None
    prove: Annotated[
        bool, typer.Option("--prove", help="Search until the result is proved to be the best there is.")
    ] = False
    split_lanes: Annotated[
        bool, typer.Option("--split-lanes", help="Split the iterations of one loop over the SIMD lanes of the array.")
    ] = False

    def request(self, source: str | SourceName, arch: str) -> Request:
        """The request for a mapping with these options."""
        from gridloom.flow import Request
        from gridloom.flow.options import parse_settings
        from gridloom.flow.request import limit_seconds

        options = dict(vars(self))
        options |= limit_seconds(options["time_limit"], options.pop("cpu_limit"))
        given = {name: options.pop(name) for name in ("device", "weights")}
        settings = [*(options.pop("settings") or []), *(f"{k}={v}" for k, v in given.items() if v is not None)]
        return Request(source=source, arch=arch, settings=parse_settings(settings), **options)


@dataclass(frozen=True, kw_only=True)
class MapFiles:
    """The files that are written."""

    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the mapping to this JSON file.")
    ] = None
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a report to this HTML file; a failed search gets one, too."),
    ] = None
    svg: Svg = None
    spokes: SpokeRam = None
    store: Observed = None


def map_source(
    *,
    source: Source,
    arch: Arch,
    search: SearchOptions,
    files: MapFiles,
    as_json: AsJson = False,
    loops: LoopOptions,
    compiling: CompilerOptions,
    assume_range: AssumeRange = None,
    training: Annotated[
        bool, typer.Option("--training", help="For built-in networks: map the backward pass, too.")
    ] = False,
    quiet: Quiet = False,
) -> int:
    """Map a graph onto an array, check the mapping and simulate it.

    Without --effort or --time-limit the mapper ends the search by itself. The exit status is 1 when no mapping was
    found; the reasons are printed.
    """
    from gridloom.compiler.source import with_training

    check_writable(
        [
            ("--output", files.output),
            ("--html", files.html),
            ("--svg", files.svg),
            ("--spoke-ram", files.spokes),
            ("--store", files.store),
        ]
    )
    if files.spokes is not None:
        check_spokes(arch)
    source = with_training(source) if training else source
    request = search.request(compiling.apply(loops.apply(source, assume_range)), arch)
    result, why = _search(request)
    write_and_tell(_texts(result, request, files, why))
    if files.store is not None and request.ii is None and len(result.sections) < 2:
        from gridloom.flow.learning import observe
        from gridloom.run import Store

        with Store(files.store) as rows:
            observe(rows, result.arch, [(result.dfg, result.to_dict() if result.mapping else None)])
    print(json.dumps({**result.to_dict(), "why": why.to_dict()}) if as_json else describe(result, why))
    return 0 if result.mapping is not None else 1


def check_spokes(arch: str) -> None:
    """OptionError for an array whose tiles have no spokes, before the search."""
    from gridloom.errors import OptionError
    from gridloom.flow.inputs import read_arch

    if not read_arch(arch).has("spokes"):
        raise OptionError(f"array {arch!r} has no spokes; only a streaming-engine has", where="--spoke-ram")


def spoke_text(mapping: Mapping) -> str:
    """The spoke RAM of a mapping as JSON, with one entry on each line."""
    from gridloom import registry

    entries = registry.hook("exports", "spoke-ram")(mapping)
    rows = ",\n".join(f" {json.dumps(entry.to_dict())}" for entry in entries)
    return f"[\n{rows}\n]\n"


def _search(request: Request) -> tuple[Result, Explanation]:
    """Run a request with a progress display, and explain its result; Ctrl-C asks the search for the best it has.

    What no bound can judge is tried for a failure alone, until one change helps: as long as the search took.
    """
    from gridloom.flow import run
    from gridloom.flow.why.explanation import TRIAL_SECONDS, explain

    with display(request.time_limit) as shown, first_interrupt_asks() as asked:
        request = replace(request, progress=shown.search, interrupted=asked.is_set)
        result = run(request)
        why = explain(
            result.dfg,
            result.arch,
            result.mapping,
            result.failure,
            ii=request.ii,
            lines=result.lines,
            trial=request if result.mapping is None else None,
            most=1,
            seconds=min(TRIAL_SECONDS, max(1.0, result.seconds)),
        )
    return replace(result, interrupted=asked.is_set()), why


def describe(result: Result, why: Explanation) -> str:
    """A result in a few lines of text.

    They say what was mapped and how, its metrics and what binds; or why it failed, and what was congested.
    """
    record = result.to_dict()
    graph = f"{record['dfg']['name']} ({record['dfg']['nodes']} nodes, {record['dfg']['edges']} edges)"
    how = f"with {result.mapper}, seed {result.seed}, in {result.seconds:.2f} s"
    cut = " (interrupted: the best so far)" if result.interrupted else ""
    if result.failure is not None:
        failure = result.failure
        lines = [f"failed: {graph} onto {result.arch.name} {how}{cut}", f"  {replace(failure, levers=())}"]
        if failure.congested:
            lines.append(f"  congested: {', '.join(failure.congested[:8])}")
        lines += _why_lines(why, proved=failure.cause == "proved")
        if failure.levers:
            lines.append(f"  the mapper suggests, untried: {', '.join(failure.levers)}")
        return "\n".join(lines)
    if len(result.sections) > 1:
        graph += f", the longest of {sum(item.count for item in result.sections)} sections"
    simd = record.get("simd")
    lines = [
        f"mapped: {graph} onto {result.arch.name} {how}{cut}",
        f"  legal, and simulated to compute what the {result.verified.compared_with} computes"
        + (" in every SIMD lane" if simd else ""),
    ]
    if not result.arch.is_timed:
        # Values are tokens there, numbers that stand for the vectors of a tensor: no arithmetic was compared.
        lines[1] = "  legal, and simulated: every token of the unit graph arrives once and in order"
    # What the front end has to say of a loop: which restrict would set its accesses free.
    remarks = [f"note: {line}" for line in (*result.dfg.notes.splitlines()[1:], *result.remarks)]
    if result.verified.not_compared:
        remarks.append(f"note: the graph was not compared with the source: {result.verified.not_compared}")
    figures = ["  " + line for line in metric_lines(record) + proof_lines(record)]
    # No array does better than an iteration in every cycle: there is nothing to explain.
    told = [f"  why: {why.verdict}", *_why_lines(why)] if why.ii != 1 else []
    return "\n".join([*lines, *figures, *told, *("  " + line for line in remarks)])


def _why_lines(why: Explanation, *, proved: bool = True) -> list[str]:
    """The bounds that the verdict does not name and the change that helps most, as lines of text.

    ``proved``: the bounds forbid what was not found; else they do not explain it.
    """
    bounds = [reason.text for reason in why.binding if proved and reason.text not in why.verdict]
    return [f"  bound by: {text}" for text in bounds] + [f"  would help: {lever}" for lever in why.levers[:1]]


def proof_lines(record: dict[str, Any]) -> list[str]:
    """Who found a mapping where several searched, and what is proved of it.

    ``record`` is the result's ``to_dict()``; empty for a mapper that searches alone and proves nothing.
    """
    lines = [f"found by {record['found_by']}"] if record["found_by"] else []
    if record["proof"]:
        lines.append("optimal:" if record["optimal"] else f"not proved to be optimal, the bound is {record['bound']}:")
        lines += [f"  {sentence}" for sentence in record["proof"]]
    return lines


def metric_lines(record: dict[str, Any]) -> list[str]:
    """The metrics of a record as lines of text; what has no meaning for the array's style is left out.

    ``record`` is the result's ``to_dict()``; a metric that is None there is not printed, and neither is a line
    without any.
    """
    buffers = record["buffers"] or {}
    share = None if record["occupancy"] is None else f"{100 * record['occupancy']:.0f} %"
    rows = [
        [("II", record["ii"]), ("MII", record["mii"]), ("latency", record["latency"]), ("period", record["period"])],
        [("wirelength", record["wirelength"]), ("longest wire", record["longest_wire"])],
        [("buffers", buffers.get("total")), ("deepest", buffers.get("max"))],
        [
            ("tiles", f"{record['tiles_used']} of {record['arch']['tiles']}" if record["tiles_used"] else None),
            ("routing tiles", record["routing_tiles"]),
            ("occupancy", share),
        ],
        [("slots", _slot_words(record["slots"]))],
    ]
    lines = [", ".join(f"{name} {value}" for name, value in row if value is not None) for row in rows]
    return [line for line in lines if line] + simd_lines(record.get("simd"))


def simd_lines(simd: dict[str, Any] | None) -> list[str]:
    """The SIMD lanes of an array in words: what they compute, and whether one loop can be split over them."""
    if simd is None:
        return []
    rate = f"{simd['elements_per_cycle']:.4g} elements per cycle"
    memory = f"{simd['tile_memory_bytes']} bytes of memory per tile"
    lines = [f"SIMD width {simd['bits']}: {simd['lanes']} lanes, {rate}, {memory}"]
    if simd["split"]:
        lines.append(f"one loop is split over the lanes: lane k runs iterations k, k + {simd['lanes']}, ...")
    elif simd["split_refused"]:
        lines.append(f"each lane runs a loop of its own: {simd['split_refused']}")
    elif simd["lanes"] > 1:
        lines.append("each lane runs a loop of its own; one loop can be split over them with --split-lanes")
    return lines


def _slot_words(slots: dict[str, int] | None) -> str | None:
    """The use of issue slots in words; None where the array has none to count."""
    if slots is None:
        return None
    return f"{slots['used']} of {slots['total']}: {slots['ops']} for operations, {slots['moves']} for moves"


def _texts(result: Result, request: Request, files: MapFiles, why: Explanation) -> dict[Path, str]:
    """The text of each file; where there is no mapping only the report is written, since it shows why.

    All texts are made before the first file is written, so that an error in one writes none.
    """
    from gridloom import emit
    from gridloom.flow.display.report import result_page
    from gridloom.flow.request import write_command
    from gridloom.mapping import json_format

    page = (
        {} if files.html is None else {files.html: result_page(result, command=write_command(vars(request)), why=why)}
    )
    if result.mapping is None:
        return page
    writers = ((files.output, json_format.dumps), (files.svg, emit.svg_mapping), (files.spokes, spoke_text))
    return {path: write(result.mapping) for path, write in writers if path is not None} | page
