"""Claims about static grids, beside the NeoSA thesis: graphs, topologies, trees, FIFOs, multipliers, buffers, area."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from statistics import fmean
from typing import Any

import gridloom as gl
from benchmarks import cells
from benchmarks.cells import (
    PUBLISHED,
    group,
    largest,
    map_cell,
    mapped_of,
    mean,
    questions,
    rivals,
    table_by,
    time_cell,
)
from benchmarks.claim import MAPPING, Claim, Row, Rows

GRID = (*MAPPING, "targets.grid")
TOPOLOGIES = ("mesh", "onehop", "hex", "chess")
#: Table 4.1 of the thesis: nodes and multiplications of each graph, as printed.
PUBLISHED_COUNTS = {
    "tree_n_15_t_1": (15, 8), "tree_n_31_t_1": (31, 16), "tree_n_63_t_1": (63, 32), "tree_n_127_t_1": (127, 64),
    "tree_n_15_t_2": (30, 16), "tree_n_31_t_2": (62, 32), "tree_n_63_t_2": (126, 64), "tree_n_15_t_3": (45, 24),
    "tree_n_31_t_3": (93, 48), "tree_n_15_t_4": (60, 32), "tree_n_31_t_4": (124, 64), "matmul22": (8, 4),
    "matmul33": (18, 9), "matmul44": (32, 16), "matmul55": (50, 25), "matmul66": (72, 36), "matmul22normal": (24, 8),
    "convolution22": (11, 4), "convolution33": (26, 9), "convolution44": (47, 16), "convolution55": (74, 25),
    "tree_n_15_t_1_r_3": (39, 8), "tree_n_31_t_1_r_3": (79, 16), "tree_n_63_t_1_r_3": (159, 32),
    "tree_n_15_t_2_r_3": (78, 16), "tree_n_31_t_2_r_3": (158, 32), "tree_n_15_t_3_r_3": (117, 24),
    "tree_n_15_t_4_r_3": (156, 32), "K4N4": (63, 16), "K4N5": (86, 21), "K4N6": (97, 27), "K4N7": (112, 30),
    "K4N8": (123, 35), "K5N4": (82, 21), "K6N4": (95, 25), "K7N4": (111, 30), "K8N4": (123, 34),
}  # fmt: skip
GRAPHS = [f"kernel:neosa-{name}" for name in PUBLISHED_COUNTS]
KMEANS = [graph for graph in GRAPHS if "-K" in graph]
OTHERS = [graph for graph in GRAPHS if "-K" not in graph]
SKEWED = [f"{family}:auto,inputs=skewed" for family in TOPOLOGIES]
LAYOUTS = ("", ",mul=checkerboard", ",mul=columns", ",mul=borders")
#: Mapper, effort and settings; the table has the CPU time that each of them takes.
RIVALS = (
    ("anneal", 4_000_000, {}), ("neosa", 32_000_000, {"schedule": "released"}), ("divide", 2_000_000, {}),
    ("genetic-grid", 2_000_000, {}),
)  # fmt: skip


def count_graph(asked: Row) -> Row:
    """Count the nodes that need a tile, and the multiplications."""
    dfg = gl.load(f"kernel:neosa-{asked['graph']}")
    return {"nodes": sum(not op.timeless for op in dfg.ops), "mults": sum(node.op == "mul" for node in dfg.nodes)}


def ask_counts(quick: bool) -> list[Row]:
    """Return a question for each graph, with the published counts."""
    return [{"graph": name, "published_nodes": n, "published_mults": m} for name, (n, m) in PUBLISHED_COUNTS.items()]


def count_hops(asked: Row) -> Row:
    """Count links from a corner of an array to every tile."""
    arch = gl.arch(asked["arch"])
    beside: dict[int, list[int]] = {}
    for source, target, *_ in arch.links:
        beside.setdefault(source, []).append(target)
    hops, waiting = {0: 0}, deque([0])
    while waiting:
        here = waiting.popleft()
        for there in beside.get(here, ()):
            if there not in hops:
                hops[there] = hops[here] + 1
                waiting.append(there)
    return {"links": len(arch.links), "to_opposite_corner": hops[len(arch.tiles) - 1],
            "mean_distance": round(fmean(hops.values()), 3)}  # fmt: skip


def ask_cells(
    graphs: list[str], archs: list[str], *, effort: int, quick_effort: int, quick: int, **columns: Any
) -> Any:
    """Return a function that asks for every graph on every array; so many graphs in the quick variant."""

    def ask(is_quick: bool) -> list[Row]:
        some = cells.first_of(graphs, quick, is_quick)
        given = {"mapper": "anneal", "seed": [1] if is_quick else [1, 2, 3, 4, 5], **columns}
        return questions(source=some, arch=archs, effort=quick_effort if is_quick else effort, **given)

    return ask


def ask_rivals(quick: bool) -> list[Row]:
    """Return a question for every mapper on a mesh, with an effort for each."""
    graphs, share = cells.first_of(GRAPHS, 10, quick), 8 if quick else 1
    rows = [
        questions(mapper=mapper, source=graphs, arch="mesh:auto,inputs=skewed", effort=effort // share,
                  seed=[1] if quick else [1, 2, 3], settings={"objective": objective, **settings})
        for objective in ("buffers", "wirelength") for mapper, effort, settings in RIVALS
    ]  # fmt: skip
    return [row for part in rows for row in part]


def rival_table(rows: Rows) -> list[Row]:
    """Return mapped cells, FIFO and wirelength by objective and mapper."""
    flat = [{**row, "objective": row["settings"]["objective"]} for row in rows]
    return table_by("objective", "mapper", mapped=mapped_of, mean_fifo=mean("fifo"), deepest=largest("fifo"),
                    mean_wirelength=mean("wirelength"), mean_CPU_s=mean("cpu"))(flat)  # fmt: skip


def rival_verdicts(rows: Rows) -> list[str]:
    """Return what the FIFOs say where buffers were asked for, and the wires where wirelength was."""
    found = []
    for objective, column in (("buffers", "fifo"), ("wirelength", "wirelength")):
        part = [row for row in rows if row["settings"]["objective"] == objective]
        found += rivals(column)(part)
    return found


def losses_table(rows: Rows) -> list[Row]:
    """Return how many graphs need a deeper FIFO with a layout of multipliers than with multipliers everywhere."""
    depth = {(row["source"], row["arch"], row["seed"]): row["fifo"] for row in rows}
    table = []
    for family in TOPOLOGIES:
        line: Row = {"topology": family}
        for layout in LAYOUTS[1:]:
            pairs = [
                (fifo, depth[source, arch.replace(layout, ""), seed])
                for (source, arch, seed), fifo in depth.items() if arch.startswith(family) and layout in arch
            ]  # fmt: skip
            worse = sum(a is None or (b is not None and a > b) for a, b in pairs)
            line[layout.partition("=")[2]] = f"{worse} of {len(pairs)} worse"
        table.append(line)
    return table


def count_buffers(asked: Row) -> Row:
    """Map a k-means graph with FIFOs everywhere or in the five middle rows; count tiles with a FIFO in use."""
    source = asked["source"]
    arch = cells.fit_array("mesh:auto,inputs=skewed", source)
    side = int(arch.partition(":")[2].partition("x")[0])
    spec: Row = {"family": "mesh", "rows": side, "cols": side, "inputs": "skewed"}
    if asked["fifos"] == "strand":
        first = (side - 5) // 2
        band = {"where": {"region": {"rows": [first, first + 4]}}, "value": 16}
        spec["fifo"] = [{"value": 0}, band]
    result = gl.map(source, spec, mapper="anneal", effort=asked["effort"], seed=asked["seed"],
                    settings={"objective": asked["objective"]})  # fmt: skip
    return {"tiles": side * side, **cells.describe_result(result), **buffer_use(result.mapping)}


def buffer_use(mapping: gl.Mapping | None) -> Row:
    """Return how many tiles have an operand that waits, and the rows in which they are."""
    if mapping is None:
        return {"tiles_with_fifo": None}
    place = {instance.node: instance.place for instance in mapping.instances}
    return {"tiles_with_fifo": len({place[mapping.dfg.edges[r.edge].target] for r in mapping.routes if r.fifo})}


def time_schedules(asked: Row) -> Row:
    """Return CPU seconds of instances of the placer, after a run that compiles."""
    settings = {"schedule": asked["schedule"], "objective": "wirelength", "instances": asked["instances"]}
    seconds = []
    for _ in range(2):
        began = time.process_time()
        result = gl.map(asked["source"], asked["arch"], mapper="neosa", seed=asked["seed"], settings=settings)
        seconds.append(time.process_time() - began)
    return {**cells.describe_result(result), "cpu_per_1000": round(1000 * min(seconds) / asked["instances"], 1)}


def bound_wires(asked: Row) -> Row:
    """Return the wirelength that is proved to be the least on a mesh, and how much of the graph forced it."""
    from benchmarks.planarity import bound_wirelength

    return bound_wirelength(asked["source"], asked["side"], asked["rounds"])


def synthesise(asked: Row) -> list[Row]:
    """Return the area of every array of the area benchmark for a target, from Yosys."""
    from pathlib import Path

    from gridloom.flow.bench.area import bench_area

    report = bench_area(asked["target"], cache=Path.home() / ".cache" / "gridloom" / "area", flat=False)
    return [{"published": None, **row.to_dict()} for row in report.rows]


def _topology(row: Mapping[str, Any]) -> str:
    return str(row["arch"]).partition(":")[0]


def by_topology(rows: Rows) -> list[Row]:
    """Return mapped cells, FIFOs and wires by topology."""
    flat = [{**row, "topology": _topology(row)} for row in rows]
    return table_by("topology", "mapper", cells=len, mapped=mapped_of, mean_fifo=mean("fifo"),
                    deepest=largest("fifo"), mean_wirelength=mean("wirelength"))(flat)  # fmt: skip


def fifo_figures(rows: Rows) -> Row:
    """Return counts and the mean deepest FIFO, for all rows and by topology."""
    parts = {f"fifo_{name}": mean("fifo")(part) for (name,), part in group(
        [{**row, "topology": _topology(row)} for row in rows], "topology")}  # fmt: skip
    return {"mapped": mapped_of(rows), "fifo": mean("fifo")(rows), "deepest": largest("fifo")(rows), **parts}


CLAIMS = (
    Claim(
        name="thesis/graphs", measures="nodes and multiplications of the graphs of table 4.1", ask=ask_counts,
        measure=count_graph, depends=("dfg", "compiler.kernels"), minutes=0.2, quick_minutes=0.2,
        figures=lambda rows: {
            "graphs": len(rows),
            "equal": sum(row["nodes"] == row["published_nodes"] for row in rows),
            "equal_mults": sum(row["mults"] == row["published_mults"] for row in rows),
        },
    ),
    Claim(
        name="thesis/distances", measures="links from a corner of a 6 x 6 array",
        ask=lambda quick: questions(arch=[f"{name}:6x6" for name in TOPOLOGIES]), measure=count_hops,
        depends=("archs", "targets.grid.families"), minutes=0.1, quick_minutes=0.1,
        figures=lambda rows: {_topology(row): row["to_opposite_corner"] for row in rows},
    ),
    Claim(
        name="thesis/trees", measures="complete binary trees by the H-tree, by a compact layout and by search",
        ask=lambda quick: [
            {"source": f"kernel:tree_reduce,nodes={n}", "arch": arch, "mapper": mapper, "seed": 1, "effort": 200_000,
             "settings": settings}
            for n, h, c in ((15, "3x7", "4x4"), (31, "7x7", "6x6"), (63, "7x15", "9x9"), (127, "15x15", "12x12"))
            for arch, mapper, settings in (
                (f"mesh:{h}", "trees", {"layout": "htree"}), (f"mesh:{c}", "trees", {"layout": "compact"}),
                ("mesh:auto", "anneal", {}),
            )
        ],
        measure=map_cell, depends=GRID, minutes=0.3, quick_minutes=0.3,
        table=table_by("source", "arch", "mapper", status=lambda rows: rows[0]["status"], tiles=largest("tiles"),
                       fifo=largest("fifo"), wirelength=largest("wirelength")),
        figures=fifo_figures,
    ),
    Claim(
        name="thesis/puzzle", measures="four trees of 15 nodes on an 8 x 8 mesh",
        ask=lambda quick: questions(source="kernel:neosa-tree_n_15_t_4", arch="mesh:8x8,inputs=skewed", mapper="anneal",
                                    effort=200_000, seed=[1, 2, 3]),
        measure=map_cell, depends=GRID, minutes=0.1, quick_minutes=0.1, figures=fifo_figures,
    ),
    Claim(
        name="thesis/optimal-trees", measures="trees on the smallest onehop squares, for the shortest wires",
        ask=lambda quick: questions(
            source=[f"kernel:neosa-{name}" for name in ("tree_n_31_t_1", "tree_n_63_t_1", "tree_n_15_t_1_r_3")],
            arch="onehop:auto,inputs=skewed", mapper=["anneal", "neosa"], effort=4_000_000, seed=1,
            settings={"objective": "wirelength"}),
        measure=map_cell, depends=GRID, minutes=0.3, quick_minutes=0.3, figures=fifo_figures,
        table=table_by("source", "mapper", fifo=largest("fifo"), wirelength=largest("wirelength"),
                       optimal=lambda rows: rows[0]["optimal"]),
    ),
    Claim(
        name="thesis/fifo", measures="37 graphs on the smallest squares of four topologies, by anneal",
        ask=ask_cells(GRAPHS, SKEWED, effort=2_000_000, quick_effort=100_000, quick=37), measure=map_cell,
        depends=GRID, minutes=20, quick_minutes=1.5, figures=fifo_figures, table=by_topology,
    ),
    Claim(
        name="thesis/neosa", measures="the published placer on the same cells, by its released schedule",
        ask=ask_cells(GRAPHS, SKEWED, effort=64_000_000, quick_effort=4_000_000, quick=8, mapper="neosa",
                      settings={"schedule": "released"}),
        measure=map_cell, depends=GRID, minutes=40, quick_minutes=1, figures=fifo_figures, table=by_topology,
    ),
    Claim(
        name="thesis/aligned", measures="the graphs with inputs that all start at cycle 0, by anneal",
        ask=ask_cells(GRAPHS, [f"{name}:auto" for name in TOPOLOGIES], effort=2_000_000, quick_effort=100_000,
                      quick=10),
        measure=map_cell, depends=GRID, minutes=20, quick_minutes=0.5, figures=fifo_figures, table=by_topology,
    ),
    Claim(
        name="thesis/border", measures="the graphs with inputs and results on the border, by anneal",
        ask=ask_cells(GRAPHS, [f"{name}:fit,inputs=skewed,io=border" for name in TOPOLOGIES], effort=2_000_000,
                      quick_effort=100_000, quick=10),
        measure=map_cell, depends=GRID, minutes=20, quick_minutes=0.5, figures=fifo_figures, table=by_topology,
    ),
    Claim(
        name="thesis/rivals", measures="mappers of static grids, with the CPU time that each takes", ask=ask_rivals,
        measure=time_cell, tolerance={"cpu": float("inf")}, depends=GRID, minutes=30, quick_minutes=1,
        table=rival_table, verdicts=rival_verdicts,
        figures=lambda rows: {"mapped": mapped_of([row for row in rows if row["mapper"] == "anneal"])},
    ),
    Claim(
        name="thesis/multipliers", measures="graphs with multipliers on some tiles, inputs and results on the border",
        ask=ask_cells(OTHERS, [f"{name}:fit,inputs=skewed,io=border{layout}" for name in TOPOLOGIES
                               for layout in LAYOUTS], effort=2_000_000, quick_effort=100_000, quick=5),
        measure=map_cell, depends=GRID, minutes=60, quick_minutes=1, figures=fifo_figures, table=losses_table,
    ),
    Claim(
        name="thesis/kmeans-multipliers", measures="k-means with multipliers on some tiles",
        ask=ask_cells(KMEANS, [f"{name}:fit,inputs=skewed,io=border{layout}" for name in TOPOLOGIES
                               for layout in LAYOUTS], effort=2_000_000, quick_effort=200_000, quick=2),
        measure=map_cell, depends=GRID, minutes=40, quick_minutes=1, figures=fifo_figures, table=losses_table,
    ),
    Claim(
        name="thesis/buffers", measures="k-means on a mesh with FIFOs everywhere and in a strand of five rows",
        ask=lambda quick: questions(
            source=cells.first_of(KMEANS, 4, quick), fifos=["everywhere", "strand"], objective=["wirelength"],
            effort=500_000 if quick else 4_000_000, seed=[1] if quick else [1, 2, 3, 4, 5]),
        measure=count_buffers, depends=GRID, minutes=10, quick_minutes=0.5,
        figures=lambda rows: {"mapped": mapped_of(rows), "in_use": mean("tiles_with_fifo")(rows)},
        table=table_by("source", "fifos", mapped=mapped_of, tiles=largest("tiles"),
                       tiles_with_FIFO=mean("tiles_with_fifo"), deepest=largest("fifo"),
                       cycles_in_all=mean("fifo_cycles")),
    ),
    Claim(
        name="thesis/schedules", measures="CPU time of instances of the placer, released and printed schedule",
        ask=lambda quick: [
            {"source": f"kernel:neosa-{name}", "arch": arch, "seed": 1, "schedule": schedule, "instances": count}
            for name, arch in (("K4N4", "mesh:8x8,inputs=skewed"), ("tree_n_31_t_1", "mesh:6x6,inputs=skewed"))
            for schedule, count in (("released", 16), ("printed", 1 if quick else 16))
        ],
        measure=time_schedules, depends=GRID, minutes=5, quick_minutes=0.4, tolerance={"cpu_per_1000": 4.0},
        table=table_by("source", "schedule", instances=largest("instances"), wirelength=largest("wirelength"),
                       CPU_seconds_per_1000=largest("cpu_per_1000")),
        figures=lambda rows: {"released": rows[0]["cpu_per_1000"], "printed": rows[1]["cpu_per_1000"]},
    ),
    Claim(
        name="thesis/wirelength-bound", measures="a proved lower bound on the wirelength of a graph on a mesh",
        ask=lambda quick: [
            {"source": f"kernel:neosa-{name}", "side": side, "rounds": 3 if quick else 400}
            for name, side in (("matmul33", 5), ("matmul44", 6), ("K4N4", 8))
        ],
        measure=bound_wires, depends=("dfg", "archs", "targets.grid.mappers.problem"), minutes=10, quick_minutes=0.5,
        needs=("ortools",), figures=lambda rows: {"bound": rows[-1]["bound"]},
    ),
    Claim(
        name="thesis/ucsb", measures="ten published graphs on the smallest squares, read from files, by anneal",
        ask=ask_cells([f"{PUBLISHED}neosa/{name}.dot" for name in (
            "hal", "arf", "motion_vec", "fir1", "h2v2_smo", "ewf", "cosine1", "interpolate", "smooth_color_z",
            "jpeg_fdct_islow")], SKEWED, effort=2_000_000, quick_effort=100_000, quick=10),
        measure=map_cell, depends=GRID, minutes=5, quick_minutes=0.4, needs=("published graphs",),
        figures=fifo_figures, table=by_topology,
    ),
    Claim(
        name="thesis/ucsb-kernels", measures="five kernels like graphs of that suite, by anneal",
        ask=ask_cells(["kernel:fir,taps=16", "kernel:matmul,n=3", "kernel:idct8", "kernel:horner_bezier,dimensions=3",
                       "kernel:bmp_header"], SKEWED, effort=2_000_000, quick_effort=100_000, quick=5),
        measure=map_cell, depends=GRID, minutes=3, quick_minutes=0.2, figures=fifo_figures, table=by_topology,
    ),
    Claim(
        name="thesis/area", measures="area of arrays by topology, FIFO depth and registers, from synthesis",
        ask=lambda quick: questions(target=["gates", "intel", "xilinx"]), measure=synthesise, depends=("hardware",),
        minutes=40, needs=("yosys",),
    ),
)  # fmt: skip
