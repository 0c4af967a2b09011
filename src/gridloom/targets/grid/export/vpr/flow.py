"""``gridloom vpr``: a graph and a static grid as files for VPR, VPR run on them, its placements judged by our rules.

VPR places for short wires and knows neither FIFOs nor links that a value has to itself. Its placements are therefore
routed and balanced by us, as in the published comparison, and only what is legal and simulated counts. VPR is not part
of this package: where the program is not on the PATH, the files are written, and results that were measured elsewhere
(``vpr_results.csv`` among the published graphs) stand in for it.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import time
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
from gridloom.targets.grid.export.vpr.architecture import architecture
from gridloom.targets.grid.export.vpr.netlist import netlist
from gridloom.verify import stats

#: Seconds that one run of VPR may take.
_LIMIT: Final = 600
#: Nothing is swept: nodes whose value nobody reads are results. Lengths alone are placed for.
OPTIONS: Final = (
    "--pack", "--place", "--timing_analysis", "off", "--sweep_dangling_primary_ios", "off", "--sweep_dangling_nets",
    "off", "--sweep_dangling_blocks", "off", "--absorb_buffer_luts", "off", "--place_algorithm", "bounding_box",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PlacerRow:
    """One placement, routed and balanced: who made it, seconds of placing, and figures if it is legal.

    ``wirelength`` is counted as placers do: hops between the tiles of each edge beyond the first.
    """

    placer: str
    seconds: float
    #: None: a wirelength that was reported, of a placement that is not at hand.
    legal: bool | None
    fifo: int | None = None
    wirelength: int | None = None


def write_files(dfg: Dfg, arch: Arch, folder: Path) -> tuple[Path, Path]:
    """Write ``array.xml`` and ``graph.blif`` into a folder, which is made if need be; returns the two paths."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {folder / "array.xml": architecture(dfg, arch), folder / "graph.blif": netlist(dfg, arch)}
    for path, text in texts.items():
        write_atomically(path, text)
    return folder / "array.xml", folder / "graph.blif"


def command(seed: int, *, program: str = "vpr") -> list[str]:
    """The command that places the files of a folder, to be run in it."""
    return [program, "array.xml", "graph.blif", *OPTIONS, "--seed", str(seed)]


def compare(
    source: str, arch: str, folder: Path, *, runs: int, program: str = "vpr", elsewhere: Path | None = None
) -> list[PlacerRow]:
    """Run VPR with the seeds 1 to ``runs``, then ``anneal`` for as long as all of these took together.

    Each row is a placement of VPR, the last one our mapping. Without the program, rows that were measured elsewhere
    take the place of VPR's (``elsewhere`` is the folder of published graphs). OptionError where there are none, or
    where VPR fails.
    """
    array = read_arch(arch)
    dfg = prepare(source, array).dfg
    write_files(dfg, array, folder)
    if shutil.which(program) is not None:
        rows = [_placed(source, arch, folder, seed, program) for seed in range(1, runs + 1)]
    else:
        rows = [] if elsewhere is None else measured_elsewhere(dfg.name, array, elsewhere)
    if not rows:
        raise OptionError(f"{program!r} is not on the PATH; install VTR, or run {' '.join(command(1))!r} where it is")
    limit = max(0.1, sum(row.seconds for row in rows))
    ours = Request(source=source, arch=arch, time_limit=limit, settings={"objective": "placement"})
    return [*rows, _mapped(ours, "gridloom", limit)]


def _placed(source: str, arch: str, folder: Path, seed: int, program: str) -> PlacerRow:
    """One run of VPR, and its placement routed and balanced by us."""
    began = time.perf_counter()
    try:
        done = subprocess.run(
            command(seed, program=program), cwd=folder, capture_output=True, text=True, timeout=_LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        raise OptionError(f"vpr with seed {seed} did not end within {_LIMIT} s") from None
    seconds = time.perf_counter() - began
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no message"]
        raise OptionError(f"vpr with seed {seed} failed with status {done.returncode}: {said[0]}")
    place = folder / f"seed-{seed}.place"
    (folder / "graph.place").replace(place)
    return _mapped(Request(source=source, arch=arch, place=place), f"vpr, seed {seed}", seconds)


def _mapped(request: Request, placer: str, seconds: float) -> PlacerRow:
    """The figures of a request's mapping."""
    mapping = run_flow(request).mapping
    if mapping is None:
        return PlacerRow(placer=placer, seconds=seconds, legal=False)
    figures = stats(mapping)
    return PlacerRow(
        placer=placer, seconds=seconds, legal=True, fifo=figures.buffers_max, wirelength=figures.placed_wirelength
    )


def measured_elsewhere(graph: str, arch: Arch, folder: Path) -> list[PlacerRow]:
    """What VPR found on a mesh of this size, from the folder of published graphs; none where there is no such file.

    The rows say how many seeds they are the best of; their seconds are those of all seeds together.
    """
    path = folder / "neosa" / "vpr_results.csv"
    if not path.is_file() or arch.rows != arch.cols:
        return []
    name = graph.removeprefix("neosa-").lower()
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if (row["graph"].lower(), row["side"]) == (name, str(arch.rows))]
    return [
        PlacerRow(
            placer=f"vpr, {row['mode']}, best of {row['seeds']}",
            seconds=float(row["cpu_s_per_run"]) * int(row["seeds"]),
            legal=None,
            wirelength=int(row["wirelength_best"]),
        )
        for row in rows
    ]
