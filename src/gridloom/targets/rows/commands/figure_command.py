"""``gridloom mappability-figure`` charts which share of graphs maps onto rows of ALUs, by their size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from gridloom.cli.options import AsJson, Quiet, Svg
from gridloom.cli.outputs import check_writable, write_and_tell


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
    from gridloom.emit.plots.chart import ChartSeries, line_chart, picture

    share = tuple((point["ops"], 100 * point["mappable"]) for point in points)
    used = tuple((point["ops"], 100 * point["utilisation"]) for point in points if point["utilisation"] is not None)
    name = "Mappable share and utilisation against graph size"
    chart = line_chart(
        name,
        [ChartSeries("mappable graphs", share, 0), ChartSeries("utilisation", used, 1)],
        x_title="ops",
        y_title="per cent",
    )
    return picture([chart], name)
