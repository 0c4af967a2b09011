"""``gridloom partition`` cuts a graph into parts that map, run one after the other and use the array well.

The flow is in :mod:`gridloom.flow.partition`. ``--compare`` runs it a second time, with the mapper itself as the
judge of parts, which is exact and slow: the difference in time is what the estimator saves.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gridloom.cli.options import AsJson, AssumeRange, ColumnArch, Observed, Quiet, Seed, Source, Svg, Weights
from gridloom.cli.outputs import check_writable, write_and_tell

if TYPE_CHECKING:
    from gridloom.flow.partition.flow import PartitionRequest
    from gridloom.flow.partition.result import PartitionResult


@dataclass(frozen=True, kw_only=True)
class PartitionOptions:
    """How a graph is cut and its parts are mapped: the fields of a request."""

    estimator: Annotated[
        str,
        typer.Option(
            "--estimator",
            metavar="NAME",
            help="What judges parts: learned, dgcnn (the published network), bound (counting), mapper (every part is "
            "mapped), or auto.",
        ),
    ] = "auto"
    weights: Weights = None
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="How graphs are cut: multilevel, kl as published, or auto (multilevel where pymetis is installed).",
        ),
    ] = "auto"
    backend: Annotated[
        str,
        typer.Option("--backend", metavar="NAME", help="What maps the parts: width, or genetic as published."),
    ] = "width"
    evaluations: Annotated[
        int, typer.Option("--evaluations", metavar="N", help="For --backend genetic: evaluations for each part.")
    ] = 10_000
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="The published system: --estimator dgcnn --method kl --backend genetic --patience 0 --seeds 20, each "
            "part mapped once.",
        ),
    ] = False
    seed: Seed = 0
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", help="How many bisections are tried for a cut.")] = 6
    patience: Annotated[
        int, typer.Option("--patience", metavar="N", help="How many splits in a row may bring no improvement.")
    ] = 1
    tries: Annotated[
        int, typer.Option("--tries", metavar="N", help="Mapping runs before a part is given up on a number of columns.")
    ] = 1
    iterations: Annotated[
        int | None,
        typer.Option(
            "--iterations",
            metavar="N",
            help="Iterations of the loop: minimise their execution time, in which every part is configured once; "
            "default: maximise the throughput.",
        ),
    ] = None
    reconfiguration: Annotated[
        int | None,
        typer.Option("--reconfiguration", metavar="N", help="Cycles that it takes to load a configuration."),
    ] = None

    def request(self, source: str, arch: str) -> PartitionRequest:
        """The request for a partition with these options."""
        from gridloom.flow.partition.flow import PUBLISHED, PartitionRequest

        fields = dict(vars(self))
        published = fields.pop("published")
        fields["loop_iterations"] = fields.pop("iterations")
        return PartitionRequest(source=source, arch=arch, **{**fields, **(PUBLISHED if published else {})})


def partition(
    *,
    source: Source,
    arch: ColumnArch,
    options: PartitionOptions,
    assume_range: AssumeRange = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Partition again without the estimator, and print what it saves.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the parts' mappings to this JSON file.")
    ] = None,
    svg: Svg = None,
    store: Observed = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Cut a graph into parts that map and run one after the other; --svg draws the tree of parts.

    Each part is unrolled, checked and simulated, and so is the whole.
    """
    from gridloom.compiler.loops.spec import with_options
    from gridloom.flow.partition.flow import partition as run

    check_writable([("--output", output), ("--svg", svg), ("--store", store)])
    request = options.request(with_options(source, ranges=assume_range or []), arch)
    result = run(request)
    record = result.to_dict()
    if compare:
        record["without_estimator"] = _comparison(record, run(replace(request, estimator="mapper")).to_dict())
    _write(result, record, output, svg)
    if store is not None:
        _keep(result, store)
    print(json.dumps(record) if as_json else "\n".join(lines(record)))
    return 0 if result.failure is None else 1


def _comparison(record: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """What the run without the estimator reached, and how many times as much CPU time it took."""
    kept = ("status", "k", "throughput_real", "explored", "attempts", "seconds", "cpu_seconds")
    ratio = other["cpu_seconds"]["total"] / max(1e-9, record["cpu_seconds"]["total"])
    return {**{key: other[key] for key in kept}, "times_longer": round(ratio, 2)}


def _keep(result: PartitionResult, store: Path) -> None:
    """Add what the mapper found of each part to a store of labels."""
    from gridloom.flow.learning import observe
    from gridloom.run import Store

    with Store(store) as rows:
        observe(rows, result.arch, [(dfg, None if width is None else {"width": width}) for dfg, width in result.found])


def _write(result: PartitionResult, record: dict[str, Any], output: Path | None, svg: Path | None) -> None:
    """Write the picture of the tree, and the mappings of the parts where there are any."""
    texts: dict[Path, str] = {}
    if svg is not None:
        from gridloom.emit.picture.partition_tree import svg_partition_tree

        texts[svg] = svg_partition_tree(record["tree"], f"{result.dfg.name} on {result.arch.name}")
    if output is not None and result.failure is None:
        from gridloom.mapping import json_format

        texts[output] = json.dumps([json.loads(json_format.dumps(part.mapping)) for part in result.parts])
    write_and_tell(texts)


def lines(record: dict[str, Any]) -> list[str]:
    """A record as text: what was reached, the parts, the tree.

    ``record`` is ``PartitionResult.to_dict()``, with the comparison added where it was asked for.
    """
    from gridloom.flow.partition.result import tree_lines

    graph = record["dfg"]
    head = f"{graph['name']} ({graph['ops']} ops, {graph['constants']} constants, {graph['loads']} loads"
    text = [f"{record['status']}: {head}, {graph['stores']} stores) on {record['arch']['name']}"]
    if record["failure"] is not None:
        failure = record["failure"]
        text.append(f"  {failure['constraint']}: {failure['demand']}; {failure['bound']}")
    else:
        text += _reached(record)
    text += ["  parts (* chosen):", *("    " + line for line in tree_lines(record["tree"]))]
    return text


def _reached(record: dict[str, Any]) -> list[str]:
    """The lines of a successful partition: parts, throughput, effort, and the comparison where it was asked for.

    The expected throughput is what the estimator promised for the chosen parts; the real one is that of their
    mappings.
    """
    parts = ", ".join(f"{part['unroll']} x {part['width']} columns" for part in record["parts"])
    run, spent = record["execution"], record["cpu_seconds"]
    expected = "-" if record["throughput_model"] is None else f"{record['throughput_model']:.3f}"
    text = [
        "  every part legal and simulated, and the whole computes what the unsplit graph computes",
        f"  k {record['k']}: {parts}",
        f"  throughput {record['throughput_real']:.3f} (expected {expected}), {run['cycles']} cycles for "
        f"{run['iterations']} iterations",
        f"  {record['explored']} graphs looked at, {record['attempts']} mapped, {record['attempts_saved']} attempts "
        f"saved by {record['estimator']}",
        f"  CPU seconds: cut {spent['cut']}, estimate {spent['estimate']}, map {spent['map']}, confirm "
        f"{spent['confirm']}, in all {spent['total']}",
    ]
    other = record.get("without_estimator")
    if other is not None:
        text.append(
            f"  without estimator: throughput {other['throughput_real']}, {other['attempts']} mapped, "
            f"{other['times_longer']} times as long"
        )
    return text
