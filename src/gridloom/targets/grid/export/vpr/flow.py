"""``gridloom vpr``: a graph and a static grid as files for VPR, VPR run on them, its placements judged by our rules.

VPR places for short wires and knows neither FIFOs nor links that a value has to itself. Its placements are therefore
routed and balanced by us, as in the published comparison, and only what is legal and simulated counts. VPR routes each
placement as well, over channels of :data:`CHANNEL` wires and the links of the topology: the length of its own wires
stands beside. VPR is not part of this package: where the program is not there, the files are written, and results that
were measured elsewhere (``vpr9_results.csv`` among the published graphs) stand in for it, labelled as stored.
"""

from __future__ import annotations

import csv
import re
import resource
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.emit.files import write_atomically
from gridloom.errors import OptionError
from gridloom.flow.inputs import prepare, read_arch
from gridloom.flow.request import Request
from gridloom.flow.run import run as run_flow
from gridloom.targets.grid.export.vpr import routes
from gridloom.targets.grid.export.vpr.architecture import architecture
from gridloom.targets.grid.export.vpr.netlist import initial_placement, netlist, placement
from gridloom.verify import stats

#: Seconds that one run of VPR may take.
_LIMIT: Final = 600
#: Wires of a channel: what VPR's router has between two rows or columns.
CHANNEL: Final = 20
#: Nothing is swept: nodes whose value nobody reads are results. Inputs, which read nothing, are no constants. Lengths
#: alone are placed for.
OPTIONS: Final = (
    "--pack", "--place", "--timing_analysis", "off", "--sweep_dangling_primary_ios", "off", "--sweep_dangling_nets",
    "off", "--sweep_dangling_blocks", "off", "--absorb_buffer_luts", "off", "--constant_net_method", "route",
    "--place_algorithm", "bounding_box",
)  # fmt: skip
_START: Final = "initial.place"
_VERSION: Final = re.compile(r"^Version:\s*(\S.*)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class PlacerRow:
    """One placement, routed and balanced: who made it, CPU seconds of placing, and figures if it is legal.

    ``wirelength`` is counted as placers do: hops between the tiles of each edge beyond the first.
    """

    placer: str
    seconds: float
    #: None: a wirelength that was reported, of a placement that is not at hand.
    legal: bool | None
    fifo: int | None = None
    wirelength: int | None = None
    #: Blocks that the wires of VPR's own routes span; None: it did not route.
    routed: int | None = None
    #: Where the figures come from: the program's version, or the conditions of a stored run.
    version: str = ""


def write_files(dfg: Dfg, arch: Arch, folder: Path) -> list[Path]:
    """Write ``array.xml``, ``graph.blif`` and ``initial.place`` into a folder, which is made if need be.

    There is no ``initial.place`` where counting shows that the tiles cannot hold the nodes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"array.xml": architecture(dfg, arch), "graph.blif": netlist(dfg, arch)}
    start = initial_placement(dfg, arch)
    if start:
        texts[_START] = placement(start, arch)
    for name, text in texts.items():
        write_atomically(folder / name, text)
    return [folder / name for name in texts]


def command(seed: int, *, program: str = "vpr", start: bool = True) -> list[str]:
    """The command that places the files of a folder, to be run in it; ``start``: from ``initial.place``."""
    given = ["--read_initial_place_file", _START] if start else []
    return [program, "array.xml", "graph.blif", *OPTIONS, *given, "--seed", str(seed)]


def route_command(*, program: str = "vpr") -> list[str]:
    """The command that routes the placement of a folder."""
    placing = OPTIONS[2:]
    return [program, "array.xml", "graph.blif", "--route", "--route_chan_width", str(CHANNEL), *placing]


def compare(
    source: str, arch: str, folder: Path, *, runs: int, program: str = "vpr", elsewhere: Path | None = None
) -> list[PlacerRow]:
    """Run VPR with the seeds 1 to ``runs``, then ``anneal`` for as much CPU time as all of these took together.

    Each row is a placement of VPR, the last one our mapping. Without the program, rows that were measured elsewhere
    take the place of VPR's (``elsewhere`` is the folder of published graphs). OptionError where there are none, or
    where VPR fails.
    """
    array = read_arch(arch)
    dfg = prepare(source, array).dfg
    start = folder / _START in write_files(dfg, array, folder)
    if shutil.which(program) is not None:
        version = _version(program)
        rows = [_placed(source, arch, folder, seed, program, version, start) for seed in range(1, runs + 1)]
    else:
        rows = [] if elsewhere is None else measured_elsewhere(dfg.name, array, elsewhere)
    if not rows:
        raise OptionError(f"{program!r} is not on the PATH; install VTR, or run {' '.join(command(1))!r} where it is")
    limit = max(0.1, sum(row.seconds for row in rows))
    ours = Request(source=source, arch=arch, time_limit=limit, cpu_time=True, settings={"objective": "placement"})
    return [*rows, _mapped(ours, "gridloom", limit)]


def _version(program: str) -> str:
    """What the program says of its version; empty where it says nothing."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=_LIMIT, check=False)
    found = _VERSION.search(done.stdout)
    return found[1].strip() if found else ""


def _run(line: list[str], folder: Path, what: str) -> float:
    """Run a command in a folder: its CPU seconds. OptionError, with the last line it said, where it fails."""
    began = _children()
    try:
        done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=_LIMIT, check=False)
    except subprocess.TimeoutExpired:
        raise OptionError(f"{what} did not end within {_LIMIT} s") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no message"]
        raise OptionError(f"{what} failed with status {done.returncode}: {said[0]}")
    return _children() - began


def _children() -> float:
    """CPU seconds of all programs that this process has run and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _placed(source: str, arch: str, folder: Path, seed: int, program: str, version: str, start: bool) -> PlacerRow:
    """One run of VPR, its routes read back, and its placement routed and balanced by us."""
    seconds = _run(command(seed, program=program, start=start), folder, f"vpr with seed {seed}")
    wires: int | None = None
    try:
        _run(route_command(program=program), folder, f"vpr with seed {seed}, routing,")
        wires = routes.wirelength(routes.read(folder / "graph.route"))
    except OptionError:
        # VPR ends with a status where it finds no routes: the placement stands.
        pass
    place = folder / f"seed-{seed}.place"
    (folder / "graph.place").replace(place)
    return _mapped(Request(source=source, arch=arch, place=place), f"vpr, seed {seed}", seconds, wires, version)


def _mapped(request: Request, placer: str, seconds: float, routed: int | None = None, version: str = "") -> PlacerRow:
    """The figures of a request's mapping."""
    mapping = run_flow(request).mapping
    if mapping is None:
        return PlacerRow(placer=placer, seconds=seconds, legal=False, routed=routed, version=version)
    figures = stats(mapping)
    return PlacerRow(
        placer=placer, seconds=seconds, legal=True, fifo=figures.buffers_max, wirelength=figures.placed_wirelength,
        routed=routed, version=version,
    )  # fmt: skip


def stored_rows(folder: Path) -> Iterator[dict[str, str]]:
    """The rows of the stored runs of VPR: graph, family, side, io, wirelength, FIFO, CPU seconds, seed and options."""
    path = folder / "neosa" / "vpr9_results.csv"
    if path.is_file():
        with path.open(newline="", encoding="utf-8") as file:
            yield from csv.DictReader(file)


def measured_elsewhere(graph: str, arch: Arch, folder: Path) -> list[PlacerRow]:
    """What VPR found on an array of this family, size and I/O, from the folder of published graphs.

    Runs with kinds merged as :func:`~gridloom.targets.grid.export.vpr.netlist.blocks` merges them. None where there is
    no such run: they are of square arrays with multipliers on all tiles.
    """
    multipliers = all("mul" in tile.classes for tile in arch.tiles)
    if arch.rows != arch.cols or not multipliers:
        return []
    ring = all(("input" in tile.classes) == _on_border(arch, t) for t, tile in enumerate(arch.tiles))
    io = "border" if ring else "any"
    cell = (graph.removeprefix("neosa-").lower(), arch.family, str(arch.rows), io)
    rows = [
        row for row in stored_rows(folder)
        if (row["graph"].lower(), row["family"], row["side"], row["io"]) == cell and "as exported" not in row["options"]
    ]  # fmt: skip
    return [
        PlacerRow(
            placer=f"vpr (stored), {_effort(row['options'])}, seed {row['seed']}",
            seconds=float(row["vpr_cpu_s"]),
            legal=bool(row["vpr_fifo_max"]),
            fifo=int(row["vpr_fifo_max"]) if row["vpr_fifo_max"] else None,
            wirelength=int(row["vpr_wirelength"]) if row["vpr_wirelength"] else None,
            version=f"{row['version']}; {arch.family} {row['side']}x{row['side']}, io={io}, mul=all",
        )
        for row in rows
    ]  # fmt: skip


def _effort(options: str) -> str:
    return "inner_num 10" if "inner_num 10" in options else "default"


def _on_border(arch: Arch, t: int) -> bool:
    tile = arch.tiles[t]
    return tile.row in (0, arch.rows - 1) or tile.col in (0, arch.cols - 1)
