"""``gridloom estimate`` says how wide a graph is, or which II a loop reaches, without mapping it; a chart shows sizes.

The estimate is made twice and timed the second time, when the network's weights are loaded and its kernels compiled;
the time that is printed is what an estimate costs inside a search.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gridloom.cli.options import AsJson, AssumeRange, EstimatedArch, Estimator, Quiet, Source, Svg
from gridloom.cli.outputs import check_writable, write_and_tell

if TYPE_CHECKING:
    from gridloom.archs.model import Arch
    from gridloom.dfg.model import Dfg


def estimate(
    *,
    source: Source,
    arch: EstimatedArch,
    estimator: Estimator = "auto",
    assume_range: AssumeRange = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Estimate what a mapper would find, in milliseconds and without mapping.

    On arrays with ports in their columns: whether the graph fits, and how many columns it needs. On modulo-scheduled
    arrays: which II the loop is likely to reach. The exit status is 1 when the graph is not expected to fit.
    """
    from gridloom.errors import OptionError
    from gridloom.flow.inputs import prepare, read_arch
    from gridloom.frontend.loops.spec import with_options

    if estimator not in ("auto", "learned", "bound"):
        raise OptionError(f"expected auto, learned or bound; found {estimator!r}", where="--estimator")
    array = read_arch(arch)
    check_estimable(array)
    dfg = prepare(with_options(source, ranges=assume_range or []), array).dfg
    if array.style == "modulo":
        record = _ii_record(dfg, array, estimator)
        print(json.dumps(record) if as_json else _ii_text(record, array))
        return 0 if record["mappable"] else 1
    record = _width_record(dfg, array, estimator)
    print(json.dumps(record) if as_json else _text(record, array))
    return 0 if record["mappable"] else 1


def check_estimable(array: Arch) -> None:
    """OptionError for an array that has neither columns with ports nor an II that ``modulo`` searches."""
    from gridloom.estimate.ii_estimate import check_modulo
    from gridloom.estimate.width_estimate import check_columns

    if array.style == "modulo":
        check_modulo(array)
    else:
        check_columns(array)


def _timed(judge: Any, dfg: Dfg, array: Arch) -> tuple[Any, float]:
    """An estimate and the CPU milliseconds that it takes once weights are loaded and kernels compiled."""
    import time

    judge.estimate(dfg, array)
    began = time.process_time()
    found = judge.estimate(dfg, array)
    return found, round(1000 * (time.process_time() - began), 3)


def _ii_record(dfg: Dfg, array: Arch, estimator: str) -> dict[str, Any]:
    """What ``--json`` prints for a modulo-scheduled array."""
    from gridloom import registry
    from gridloom.estimate.ii_estimate import BoundIi
    from gridloom.mappers.choice import refuse_unsuited

    refuse_unsuited("modulo", dfg, array)
    model = registry.load("models", "initiation")
    counts = estimator == "bound" or (estimator == "auto" and not model.trained)
    judge = BoundIi() if counts else model.estimator()
    found, milliseconds = _timed(judge, dfg, array)
    first = found.mii.total
    return {
        "dfg": {"name": dfg.name, "nodes": len(dfg.nodes), "edges": len(dfg.edges)},
        "arch": {"name": array.name, "rows": array.rows, "cols": array.cols},
        "estimator": judge.name,
        "mappable": found.ii is not None,
        "ii": found.ii,
        "mii": first,
        "res_mii": found.mii.res,
        "rec_mii": found.mii.rec,
        "confidence": None if found.confidence is None else round(found.confidence, 4),
        "reachable": {str(first + k): round(chance, 4) for k, chance in enumerate(found.reachable)},
        "reason": found.reason,
        "milliseconds": milliseconds,
    }


def _ii_text(record: dict[str, Any], array: Arch) -> str:
    """The likely II in a line or two, or why there is none."""
    if not record["mappable"]:
        return f"{record['dfg']['name']} is not expected to map onto {array.name}: {record['reason']}"
    if record["confidence"] is None:
        return f"{record['dfg']['name']} on {array.name}: II {record['ii']} at least\n{record['reason']}"
    told = f"MII {record['mii']} (resources {record['res_mii']}, recurrences {record['rec_mii']})"
    chances = [f"II {ii} {chance:.2f}" for ii, chance in record["reachable"].items() if int(ii) <= record["ii"] + 1]
    line = (
        f"{record['dfg']['name']} on {array.name}: II {record['ii']} is likely, confidence {record['confidence']:.2f}"
    )
    further = record["reason"].removeprefix("learned").removeprefix("; ")
    return f"{line}; {told}\nreachable: {', '.join(chances)}" + (f"\n{further}" if further else "")


def _width_record(dfg: Dfg, array: Arch, estimator: str) -> dict[str, Any]:
    """What ``--json`` prints for an array with ports in its columns."""
    from gridloom.estimate.width_estimate import demand
    from gridloom.flow.partition.flow import estimator_of

    judge = estimator_of(estimator)  # type: ignore[arg-type]
    found, milliseconds = _timed(judge, dfg, array)
    need = demand(dfg, array)
    return {
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
        "milliseconds": milliseconds,
    }  # fmt: skip


def _text(record: dict[str, Any], array: Arch) -> str:
    """The estimate in a line or two: width, bound and copies, or why the graph is not expected to fit."""
    chance = "" if record["probability"] is None else f", probability {record['probability']:.3f}"
    if not record["mappable"]:
        return f"{record['dfg']['name']} is not expected to fit {array.name}{chance}: {record['reason']}"
    # Without a probability the width was only counted: the reason is worth a line.
    counted = f"\n{record['reason']}" if record["probability"] is None else ""
    return (
        f"{record['dfg']['name']} on {array.name}: {record['width']} columns (bound {record['bound']}{chance}), "
        f"{record['unroll']} copies, utilisation {record['utilisation']:.2f}{counted}"
    )


def mappability_figure(
    *,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="DIR",
            help="The folder of a data set of gridloom train mappability; default: the labels of the package.",
        ),
    ] = None,
    svg: Svg = None,
    step: Annotated[
        int, typer.Option("--step", metavar="N", min=1, help="How many sizes (in operations) one point takes together.")
    ] = 10,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Chart the share of graphs that are mappable, and their utilisation, by the size of the graphs."""
    from gridloom import registry

    check_writable([("--svg", svg)])
    points = registry.load("models", "mappability").by_size(folder, step)
    if svg is not None:
        write_and_tell({svg: _chart(points)})
    if as_json:
        print(json.dumps({"points": points}))
    else:
        print("\n".join(_line(point) for point in points))
    return 0


def _line(point: dict[str, Any]) -> str:
    """One size of the chart as text."""
    used = "" if point["utilisation"] is None else f", utilisation {point['utilisation']:.2f}"
    return (
        f"{point['from']:>3} to {point['to']:>3} ops: {point['graphs']} graphs, mappable {point['mappable']:.2f}{used}"
    )


def _chart(points: list[dict[str, Any]]) -> str:
    """The chart as SVG text: both shares in per cent over the number of ops."""
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
