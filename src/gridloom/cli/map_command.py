"""``gridloom map``: options to a request, a result to text, JSON and files."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from gridloom.cli.loop_options import Flatten, Function, Loop, Size, Unroll
from gridloom.cli.outputs import check_writable, write_all
from gridloom.cli.progress import display, first_interrupt_asks, note

if TYPE_CHECKING:
    from gridloom.flow import Request, Result
    from gridloom.mapping.model import Mapping

#: Fields of the record that a report lists as metrics; the rest is in its title, badges and command.
REPORTED: Final = (
    "mapper", "seed", "seconds", "ii", "mii", "res_mii", "rec_mii", "latency", "period", "throughput", "wirelength",
    "longest_wire", "placed_wirelength", "buffers", "width", "height", "tiles_used", "routing_tiles", "occupancy",
    "optimal", "bound", "proof", "found_by",
)  # fmt: skip


def map_source(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="A file, FILE.c:FUNCTION or kernel:NAME,key=value,..."),
    ],
    arch: Annotated[str, typer.Option("--arch", help="A family with parameters (chess:8x8) or a YAML file.")],
    mapper: Annotated[str, typer.Option("--mapper", help="A mapper's name; auto: the one for the array.")] = "auto",
    ii: Annotated[int | None, typer.Option("--ii", help="The II to map at (modulo-scheduled arrays).")] = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed and effort give the same mapping.")] = 0,
    time_limit: Annotated[float | None, typer.Option("--time-limit", help="Seconds of search.")] = None,
    effort: Annotated[int | None, typer.Option("--effort", help="Moves of search.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", help="Workers that search at the same time.")] = 1,
    settings: Annotated[list[str] | None, typer.Option("--set", help="key=value of the mapper's settings.")] = None,
    place: Annotated[Path | None, typer.Option("--place", help="A placement to route and balance only.")] = None,
    init: Annotated[Path | None, typer.Option("--init", help="A placement to start from.")] = None,
    pin: Annotated[Path | None, typer.Option("--pin", help="Nodes that have to sit on given tiles.")] = None,
    prove: Annotated[bool, typer.Option("--prove", help="Go on until the result is proved to be the best.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the mapping here (JSON).")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write a report here.")] = None,
    svg: Annotated[Path | None, typer.Option("--svg", help="Write a picture here.")] = None,
    spokes: Annotated[
        Path | None,
        typer.Option("--spoke-ram", help="Streaming engine: write what each tile does in each spoke (JSON)."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    function: Function = None,
    loop: Loop = None,
    flatten: Flatten = False,
    unroll: Unroll = None,
    size: Size = None,
    training: Annotated[bool, typer.Option("--training", help="Built-in networks: the backward pass, too.")] = False,
) -> int:
    """Map a source onto an array, check the mapping and simulate it."""
    from gridloom.flow import Request
    from gridloom.flow.options import parse_settings
    from gridloom.frontend.loops.spec import with_options
    from gridloom.frontend.source import with_training

    check_writable([("--output", output), ("--html", html), ("--svg", svg), ("--spoke-ram", spokes)])
    if spokes is not None:
        check_spokes(arch)
    source = with_training(source) if training else source
    request = Request(
        source=with_options(source, function=function, loop=loop, flatten=flatten, unroll=unroll, sizes=size or []),
        arch=arch,
        mapper=mapper,
        ii=ii,
        seed=seed,
        time_limit=time_limit,
        effort=effort,
        jobs=jobs,
        settings=parse_settings(settings or []),
        place=place,
        init=init,
        pin=pin,
        prove=prove,
    )
    result = _search(request)
    if result.mapping is not None:
        texts = _texts(result, request, output=output, html=html, svg=svg)
        if spokes is not None:
            texts[spokes] = spoke_text(result.mapping)
        write_all(texts)
        for path in texts:
            note(f"wrote {path}")
    print(json.dumps(result.to_dict()) if as_json else describe(result))
    return 0 if result.mapping is not None else 1


def check_spokes(arch: str) -> None:
    """OptionError for an array whose tiles have no spokes."""
    from gridloom.errors import OptionError
    from gridloom.flow.inputs import read_arch

    if not read_arch(arch).has("spokes"):
        raise OptionError(f"array {arch!r} has no spokes; only a streaming-engine has", where="--spoke-ram")


def spoke_text(mapping: Mapping) -> str:
    """The spoke RAM of a mapping as JSON, an entry a line."""
    from gridloom.emit.spoke_ram import spoke_ram

    rows = ",\n".join(f" {json.dumps(entry.to_dict())}" for entry in spoke_ram(mapping))
    return f"[\n{rows}\n]\n"


def _search(request: Request) -> Result:
    from dataclasses import replace

    from gridloom.flow import run

    with display(request.time_limit) as shown, first_interrupt_asks() as asked:
        result = run(replace(request, progress=shown.search, interrupted=asked.is_set))
    return replace(result, interrupted=asked.is_set())


def describe(result: Result) -> str:
    """A result in a few lines of text."""
    record = result.to_dict()
    graph = f"{record['dfg']['name']} ({record['dfg']['nodes']} nodes, {record['dfg']['edges']} edges)"
    how = f"with {result.mapper}, seed {result.seed}, in {result.seconds:.2f} s"
    cut = " (interrupted: the best so far)" if result.interrupted else ""
    if result.failure is not None:
        lines = [f"failed: {graph} onto {result.arch.name} {how}{cut}", f"  {result.failure}"]
        if result.failure.congested:
            lines.append(f"  congested: {', '.join(result.failure.congested[:8])}")
        return "\n".join(lines)
    if len(result.sections) > 1:
        graph += f", the longest of {sum(item.count for item in result.sections)} sections"
    lines = [
        f"mapped: {graph} onto {result.arch.name} {how}{cut}",
        "  legal, and simulated to compute what the graph computes",
    ]
    # What the front end has to say of a loop: which restrict would set its accesses free.
    remarks = [f"note: {line}" for line in result.dfg.notes.splitlines()[1:]]
    return "\n".join([*lines, *("  " + line for line in metric_lines(record) + proof_lines(record) + remarks)])


def proof_lines(record: dict[str, Any]) -> list[str]:
    """Who found a mapping where several searched, and what is proved of it."""
    lines = [f"found by {record['found_by']}"] if record["found_by"] else []
    if record["proof"]:
        lines.append("optimal:" if record["optimal"] else f"not proved to be optimal, the bound is {record['bound']}:")
        lines += [f"  {sentence}" for sentence in record["proof"]]
    return lines


def metric_lines(record: dict[str, Any]) -> list[str]:
    """The metrics of a record as lines of text; what has no meaning for the array's style is left out."""
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
    ]
    lines = [", ".join(f"{name} {value}" for name, value in row if value is not None) for row in rows]
    return [line for line in lines if line]


def _texts(
    result: Result, request: Request, *, output: Path | None, html: Path | None, svg: Path | None
) -> dict[Path, str]:
    from gridloom import emit
    from gridloom.flow.tensor.dataflow_load import dataflow_load
    from gridloom.mapping import json_format

    mapping = result.mapping
    texts: dict[Path, str] = {}
    if mapping is None:
        return texts
    if output is not None:
        texts[output] = json_format.dumps(mapping)
    if svg is not None:
        texts[svg] = emit.svg_mapping(mapping)
    if html is not None:
        record = result.to_dict()
        stats = {name: value for name, value in record.items() if name in REPORTED and value is not None}
        texts[html] = emit.html_report(
            mapping,
            stats=stats,
            verdict=record["verified"],
            command=command_line(request),
            source=None if result.text is None else result.text.listing(mapping.dfg),
            load=dataflow_load(mapping),
        )
    return texts


def command_line(request: Request) -> str:
    """The command that makes the same mapping again."""
    words = ["gridloom", "map", str(request.source), "--arch", str(request.arch), "--mapper", request.mapper]
    words += ["--seed", str(request.seed)]
    for name in ("ii", "time_limit", "effort", "place", "init", "pin"):
        value = getattr(request, name)
        if value is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
    for key, value in request.settings.items():
        words += ["--set", f"{key}={value}"]
    words += ["--prove"] if request.prove else []
    return shlex.join(words)
