"""``gridloom estimate``: does a graph fit, and how wide, without mapping it; and how that depends on its size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gridloom.cli.outputs import check_writable, write_all
from gridloom.cli.progress import note

if TYPE_CHECKING:
    from gridloom.archs.model import Arch


def estimate(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A file or kernel:NAME,key=value,...")],
    arch: Annotated[str, typer.Option("--arch", help="An array with ports in its columns, such as vpcma.")],
    estimator: Annotated[str, typer.Option("--estimator", help="learned, or bound (counting).")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Estimate the columns that a graph needs, in milliseconds. Exit status 1: not expected to be mappable."""
    import time

    from gridloom.errors import OptionError
    from gridloom.estimate.width_estimate import check_columns, demand
    from gridloom.flow.inputs import prepare, read_arch
    from gridloom.flow.partition.flow import estimator_of

    if estimator not in ("auto", "learned", "bound"):
        raise OptionError(f"expected auto, learned or bound; found {estimator!r}", where="--estimator")
    array = read_arch(arch)
    check_columns(array)
    dfg = prepare(source, array).dfg
    judge = estimator_of(estimator)  # type: ignore[arg-type]
    judge.estimate(dfg, array)
    began = time.process_time()
    found = judge.estimate(dfg, array)
    seconds = time.process_time() - began
    need = demand(dfg, array)
    record: dict[str, Any] = {
        "dfg": {"name": dfg.name, "ops": need.ops, "constants": need.constants, "loads": need.loads,
                "stores": need.stores},
        "arch": {"name": array.name, "rows": array.rows, "cols": array.cols},
        "estimator": judge.name,
        "mappable": found.mappable,
        "width": found.width,
        "bound": found.bound,
        "probability": None if found.probability is None else round(found.probability, 4),
        "unroll": array.cols // found.width if found.width else 0,
        "utilisation": round(need.ops / (found.width * array.rows), 4) if found.width else None,
        "reason": found.reason,
        "milliseconds": round(1000 * seconds, 3),
    }  # fmt: skip
    print(json.dumps(record) if as_json else _text(record, array))
    return 0 if found.mappable else 1


def _text(record: dict[str, Any], array: Arch) -> str:
    chance = "" if record["probability"] is None else f", probability {record['probability']:.3f}"
    if not record["mappable"]:
        return f"{record['dfg']['name']} is not expected to fit {array.name}{chance}: {record['reason']}"
    # Without a probability it is counted: why nothing better is said is worth a line.
    counted = f"\n{record['reason']}" if record["probability"] is None else ""
    return (
        f"{record['dfg']['name']} on {array.name}: {record['width']} columns (bound {record['bound']}{chance}), "
        f"{record['unroll']} copies, utilisation {record['utilisation']:.2f}{counted}"
    )


def mappability_figure(
    folder: Annotated[Path, typer.Option("--folder", help="Where the data set of `gridloom train mappability` is.")],
    svg: Annotated[Path | None, typer.Option("--svg", help="Write the chart here.")] = None,
    step: Annotated[int, typer.Option("--step", min=1, help="Ops a point.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Mappable share and utilisation against the size of graphs, from the labelled data set."""
    from gridloom import registry

    check_writable([("--svg", svg)])
    points = registry.load("models", "mappability").by_size(folder, step)
    if svg is not None:
        write_all({svg: _chart(points)})
        note(f"wrote {svg}")
    if as_json:
        print(json.dumps({"points": points}))
    else:
        print("\n".join(_line(point) for point in points))
    return 0


def _line(point: dict[str, Any]) -> str:
    used = "" if point["utilisation"] is None else f", utilisation {point['utilisation']:.2f}"
    return (
        f"{point['from']:>3} to {point['to']:>3} ops: {point['graphs']} graphs, mappable {point['mappable']:.2f}{used}"
    )


def _chart(points: list[dict[str, Any]]) -> str:
    from gridloom.emit.plots.chart import Series, line_chart, picture

    share = tuple((point["ops"], 100 * point["mappable"]) for point in points)
    used = tuple((point["ops"], 100 * point["utilisation"]) for point in points if point["utilisation"] is not None)
    name = "Mappable share and utilisation against graph size"
    chart = line_chart(
        name,
        [Series("mappable graphs", share, 0), Series("utilisation", used, 1)],
        x_title="ops",
        y_title="per cent",
    )
    return picture([chart], name)
