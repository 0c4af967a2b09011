"""Claims about speed and scale, and about what a change of the code leaves as it is."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import gridloom as gl
from benchmarks import cells, code_lines
from benchmarks.cells import figures_of, largest, map_cell, mapped_of, questions, table_by
from benchmarks.claim import MAPPING, REPOSITORY, Claim, Row, Rows, published_folder
from gridloom.statistics import geometric_mean

#: CPU times differ between machines and with what else runs: a tenth to ten times the stored one.
CPU = 9.0
TARGETS = ("targets.grid", "targets.modulo", "targets.rows", "targets.streaming", "targets.dataflow")
#: Suite -> mapper and effort of the digests; cells with skewed inputs and further seeds are left out.
DIGESTED = {
    "satmapit": ("modulo", 20_000), "loops": ("modulo", 20_000), "panorama": ("modulo", 20_000),
    "se-strict": ("ppo", 20_000), "neosa": ("auto", 50_000),
}  # fmt: skip
#: Cells of targets that the suites above do not reach.
OTHER_CELLS = (
    *(("se-anneal", f"kernel:{k}", "streaming-engine:16,spokes=16,level=strict,instructions=4", "anneal", 20_000)
      for k in ("ifft", "fft_radix4", "aes_column", "sha1_step,steps=3")),
    *(("rows", f"kernel:{k}", "vpcma", "width", 2_000_000)
      for k in ("cma_aes", "cma_dct8", "cma_md5", "cma_rgb_to_ycc")),
    *(("tensor", f"model:{k}", "rdu:16x8", "dataflow", 2_000)
      for k in ("gemm,inner=256,columns=256", "mlp,width=256", "ffn,width=256")),
    *(("ramp", f"kernel:{k}", "ramp-7", mapper, 100_000)
      for k in ("fir", "iir", "gsm_ltp", "bicg") for mapper in ("ramp", "regimap", "memmap")),
    *(("hycube", f"kernel:{k}", "hycube:4x4", "modulo", 10_000) for k in ("fir", "iir", "gsm_ltp", "bicg")),
    *(("static", f"kernel:{k}", "mesh:8x8", mapper, 2_000_000)
      for k in ("fir", "dct8", "kmeans") for mapper in ("neosa", "divide", "genetic-grid")),
)  # fmt: skip
#: Graph, array, mapper, effort of the cells whose CPU time is measured.
TIMED = (
    ("kernel:distance", "mesh:8x8", "anneal", 200_000), ("kernel:dct8", "onehop:9x9", "anneal", 200_000),
    ("kernel:kmeans,k=2,n=3", "chess:7x7", "anneal", 200_000), ("kernel:ifft", "ramp-7", "modulo", 20_000),
    ("kernel:sobel", "ramp-10", "modulo", 20_000), ("kernel:gemm", "torus:4x4", "modulo", 20_000),
    ("kernel:gsm_ltp", "ramp-7", "ramp", 100_000),
)  # fmt: skip
OPS = ("add", "xor", "mul", "sub", "min", "shl", "max", "and")


def cpu_of(function: Callable[[], object], repeats: int = 3) -> float:
    """Return the least CPU seconds of some calls, after one that compiles."""
    function()
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        function()
        seconds.append(time.process_time() - began)
    return round(min(seconds), 5)


# -- the same mappings ----------------------------------------------------------------------------------------------


def ask_digests(quick: bool) -> list[Row]:
    """Return a question for each cell whose mapping is kept as a digest; every ninth in the quick variant."""
    found: list[tuple[str, str, str, str, int]] = []
    from gridloom.flow.bench.suite import load_suite

    for name, (mapper, effort) in DIGESTED.items():
        suite = load_suite(name)
        if suite.files and (quick or not published_folder().is_dir()):
            continue
        asked = [cell for cell in suite.cells() if cell.seed == suite.seeds[0] and "inputs=skewed" not in cell.arch]
        prefix = cells.PUBLISHED if suite.files else ""
        sized = [(prefix + cell.source, cells.source_of(prefix + cell.source), cell.arch) for cell in asked]
        found += [(name, source, cells.fit_array(arch, path), mapper, effort) for source, path, arch in sized]
    keys = ("suite", "source", "arch", "mapper", "effort")
    return [dict(zip(keys, cell)) | {"seed": 1} for cell in [*found, *OTHER_CELLS][:: 9 if quick else 1]]


def digest_cell(asked: Row) -> Row:
    """Return the digest of what is found for a cell."""
    found = map_cell(asked)
    return {name: found[name] for name in ("status", "ii", "digest")}


def count_code(asked: Row) -> Row:
    """Count files and code lines of the package, without ``testing``."""
    files = code_lines.source_files(REPOSITORY / "src" / "gridloom")
    return {"files": len(files), "lines": sum(code_lines.count_lines(path.read_text("utf-8")) for path in files)}


def count_imports(asked: Row) -> Row:
    """Run a command in a new process; count the modules it imports and name the heavy ones."""
    program = "import sys; from gridloom.cli import main\ntry: main({argv!r})\nexcept SystemExit: pass\n"
    heavy_ones = "{'torch', 'numba', 'matplotlib', 'scipy', 'ortools'}"
    code = program.format(argv=asked["command"].split())
    code += f"print(len(sys.modules), *sorted({heavy_ones} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY)
    count, *heavy = done.stdout.splitlines()[-1].split()
    return {"modules": int(count), "heavy": " ".join(heavy)}


# -- CPU time ---------------------------------------------------------------------------------------------------------


def time_map(asked: Row) -> Row:
    """Return the CPU seconds of a search with its checks."""
    seconds = cpu_of(lambda: map_cell(asked))
    found = map_cell(asked)
    return {"status": found["status"], "ii": found["ii"], "wirelength": found["wirelength"], "cpu": seconds}


def time_unroll(asked: Row) -> Row:
    """Return the CPU seconds of the time-expanded resource graph."""
    from gridloom.archs.unroll import unroll

    array = gl.arch(asked["arch"])
    return {"cpu": cpu_of(lambda: unroll(array, asked["ii"], {}), 5)}


def time_simulation(asked: Row) -> Row:
    """Return tile-cycles per CPU second of the simulator, on a mesh whose function units fire in every cycle.

    The mapping is a snake through all tiles; an op reads its predecessor and the tile above, which waits in a FIFO.
    """
    from gridloom.dfg.interpreter import random_stimulus
    from gridloom.mapping import configure
    from gridloom.sim.execute import execute
    from gridloom.sim.slot_code import compile_slots

    mapping = make_snake(asked["side"])
    program = compile_slots(configure(mapping))
    stimulus = random_stimulus(mapping.dfg, asked["iterations"], seed=1)
    cycles = execute(program, stimulus).cycles
    seconds = cpu_of(lambda: execute(program, stimulus))
    return {"legal": not gl.check(mapping), "equal": gl.simulate(mapping).ok, "cycles": cycles,
            "tile_cycles_per_second": round(asked["side"] ** 2 * cycles / seconds)}  # fmt: skip


def make_snake(side: int) -> gl.Mapping:
    """Return a legal mapping with an op on every tile of a square mesh; tile k of the snake issues at cycle k."""
    from gridloom.mapping import Instance, Route

    path = [(r, c if r % 2 == 0 else side - 1 - c) for r in range(side) for c in range(side)]
    number = {cell: k for k, cell in enumerate(path)}
    b = gl.DfgBuilder(f"snake_{side}")
    b.input("n0")
    for k, (r, c) in enumerate(path[1:-1], start=1):
        b.add(OPS[k % len(OPS)], f"n{k - 1}", f"n{number[r - 1, c]}" if r else b.const(k), id=f"n{k}")
    b.output(f"n{side * side - 2}", f"n{side * side - 1}")
    dfg = b.build()
    place = {f"n{k}": (f"pe_{r}_{c}", k) for k, (r, c) in enumerate(path)}
    routes = []
    for e, edge in enumerate(dfg.edges):
        if edge.source in place:
            (source, issued), (target, wanted) = place[edge.source], place[edge.target]
            names = (f"{source}.out", f"{source}>{target}", f"{target}.in{edge.operand}")
            hops = tuple((name, issued + 1) for name in names)
            routes.append(Route(edge=e, hops=hops, fifo=wanted - issued - 1))
    return gl.Mapping(dfg=dfg, arch=gl.arch(f"mesh:{side}x{side}"), ii=1, routes=tuple(routes), instances=tuple(
        Instance(node=node, place=tile, cycle=cycle) for node, (tile, cycle) in place.items()))  # fmt: skip


# -- scale ------------------------------------------------------------------------------------------------------------


def make_chains(copies: int) -> gl.Dfg:
    """Return copies of a loop that counts, loads two values, blends them and stores the result."""
    b = gl.DfgBuilder(f"chains{copies}")
    for name in "abo":
        b.array(name, 64)
    for k in range(copies):
        i = b.add("add", b.const(1), id=f"i{k}")
        b.carry(i, i, operand=1, initial=[0])
        p, q = b.load("a", i), b.load("b", i)
        blend = b.add("add", q, b.add("shr", b.add("mul", b.add("sub", p, q), b.const(77)), b.const(8)))
        high = b.add("min", b.add("max", blend, b.const(0)), b.const(255))
        mixed = b.add("xor", b.add("xor", high, b.add("and", p, b.const(85))), b.add("or", q, b.const(15)))
        b.store("o", i, mixed)
    return b.build()


def scale_modulo(asked: Row) -> Row:
    """Return the CPU seconds from a graph of many equal chains to its mapping on a torus that grows along."""
    side = asked["side"]
    dfg = make_chains(side * side // 14)
    array = gl.arch(f"torus:{side}x{side},regs=4,bus=none")
    began = time.process_time()
    result = gl.map(dfg, array, mapper="modulo", ii=asked["ii"], seed=asked["seed"])
    return {"nodes": len(dfg.nodes), "tiles": side * side, "status": result.status,
            "cpu": round(time.process_time() - began, 2)}  # fmt: skip


def scale_grid(asked: Row) -> Row:
    """Return the CPU seconds from a k-means graph to its mapping on the smallest onehop square."""
    source = f"kernel:kmeans,k={asked['k']},n={asked['n']}"
    arch = cells.fit_array("onehop:auto,inputs=skewed", source)
    began = time.process_time()
    found = cells.describe_result(gl.map(source, arch, mapper="anneal", effort=asked["effort"], seed=asked["seed"],
                                         settings={"starts": 4}))  # fmt: skip
    return {"nodes": found["nodes"], "tiles": found["tiles"], "status": found["status"], "fifo": found["fifo"],
            "cpu": round(time.process_time() - began, 2)}  # fmt: skip


def fit_exponent(rows: Rows) -> Row:
    """Return the slope of the least-squares line through the logarithms of nodes and CPU seconds."""
    points = np.log(np.array([[row["nodes"], max(row["cpu"], 1e-3)] for row in rows if row["status"] == "mapped"]))
    slope = float(np.polyfit(points[:, 0], points[:, 1], 1)[0]) if len(points) > 1 else None
    return {"mapped": mapped_of(rows), "nodes": largest("nodes")(rows),
            "exponent": None if slope is None else round(slope, 2)}  # fmt: skip


def echo(parameters: Row) -> Row:
    """Do no work and return a row as large as that of a mapping."""
    return {"n": parameters["n"], "row": "x" * 900}


def time_jobs(asked: Row) -> Row:
    """Return what a job that does nothing costs the client: made, sent, received and, with a store, kept."""
    import tempfile

    from gridloom.run import ExecutorSpec, Store, ask, complete_jobs, run_stored

    spec = ExecutorSpec(backend=asked["backend"], workers=None if asked["backend"] == "inline" else 2)
    jobs = [ask(echo, {"n": n}) for n in range(asked["jobs"])]
    began = time.process_time()
    if asked["store"]:
        with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "rows.sqlite") as store:
            done = run_stored(echo, jobs, store, executor=spec).computed
    else:
        done = sum(outcome.error is None for outcome in complete_jobs(echo, jobs, executor=spec))
    return {"done": done, "ms_per_job": round(1e3 * (time.process_time() - began) / len(jobs), 4)}


def plot_scaling(rows: Rows) -> str:
    """Draw CPU seconds over nodes."""
    from gridloom.emit.plots.chart import ChartSeries, line_chart, picture

    points = tuple(sorted((float(row["nodes"]), row["cpu"]) for row in rows if row["status"] == "mapped"))
    panel = line_chart("time to a mapping", [ChartSeries("modulo", points)], x_title="nodes", y_title="CPU s", y_from=0)
    return picture([panel], "scaling")


CLAIMS = (
    Claim(
        name="speed/placements", measures="digests of mappings by effort; a change of the code leaves them as they are",
        ask=ask_digests, measure=digest_cell, depends=(*MAPPING, *TARGETS, "compiler", "partition", "transform"),
        minutes=40, quick_minutes=4, figures=lambda rows: {"cells": len(rows)},
        table=table_by("suite", "mapper", cells=len, mapped=mapped_of),
    ),
    Claim(
        name="speed/code-lines", measures="code lines of the package, without blanks, comments and docstrings",
        ask=lambda quick: [{"folder": "src/gridloom"}], measure=count_code, depends=(), minutes=0.1, quick_minutes=0.1,
        tolerance={"files": 0.25, "lines": 0.1}, figures=lambda rows: dict(rows[0]),
    ),
    Claim(
        name="speed/imports", measures="modules that a command imports, and which of the slow ones",
        ask=lambda quick: questions(command=["--version", "list archs", "list mappers", "map --help"]),
        measure=count_imports, depends=("cli",), minutes=0.1, quick_minutes=0.1, tolerance={"modules": 0.3},
        figures=lambda rows: {"most": largest("modules")(rows)},
    ),
    Claim(
        name="speed/map", measures="CPU seconds of a search with its checks, kernels compiled",
        ask=lambda quick: [dict(zip(("source", "arch", "mapper", "effort"), one)) | {"seed": 1} for one in TIMED],
        measure=time_map, depends=(*MAPPING, "targets.grid", "targets.modulo"), minutes=1, quick_minutes=1,
        tolerance={"cpu": CPU}, figures=lambda rows: {"mean": geometric_mean(row["cpu"] for row in rows)},
    ),
    Claim(
        name="speed/unroll", measures="CPU seconds of the time-expanded resource graph",
        ask=lambda quick: [{"arch": a, "ii": ii} for a, ii in (("torus:4x4", 8), ("mesh:8x8", 1), ("torus:16x16", 4))],
        measure=time_unroll, depends=("archs",), minutes=0.1, quick_minutes=0.1, tolerance={"cpu": CPU},
        figures=figures_of(cpu=largest("cpu")),
    ),
    Claim(
        name="speed/simulator", measures="tile-cycles per CPU second of the simulator, all function units busy",
        ask=lambda quick: questions(side=[4, 8], iterations=20_000), measure=time_simulation,
        depends=("sim", "mapping"),
        minutes=0.2, quick_minutes=0.2, tolerance={"tile_cycles_per_second": CPU},
        figures=lambda rows: {"rate": rows[-1]["tile_cycles_per_second"]},
    ),
    Claim(
        name="speed/modulo-scaling", measures="CPU seconds of `modulo` by nodes, at half occupancy",
        ask=lambda quick: questions(side=[10, 14, 20] if quick else [10, 14, 20, 28, 40, 64], ii=2, seed=1),
        measure=scale_modulo, depends=(*MAPPING, "targets.modulo"), minutes=10, quick_minutes=1, tolerance={"cpu": CPU},
        figures=fit_exponent, picture=plot_scaling,
    ),
    Claim(
        name="speed/grid-scaling", measures="CPU seconds of `anneal` by nodes, k-means on onehop squares",
        ask=lambda quick: [
            {"k": k, "n": n, "effort": 400_000, "seed": seed}
            for k, n in ((4, 6), (6, 9), (8, 12), (11, 15), (14, 19))[: 3 if quick else 5]
            for seed in ([1] if quick else [1, 2, 3])
        ],
        measure=scale_grid, depends=(*MAPPING, "targets.grid"), minutes=5, quick_minutes=0.5, tolerance={"cpu": CPU},
        figures=fit_exponent,
    ),
    Claim(
        name="speed/jobs", measures="CPU time of the client for a job that does nothing",
        ask=lambda quick: questions(backend=["inline", "threads", "processes"], store=[False, True],
                                    jobs=500 if quick else 10_000),
        measure=time_jobs, depends=("run",), minutes=1, quick_minutes=0.1, tolerance={"ms_per_job": CPU},
        figures=figures_of(most=largest("ms_per_job")),
    ),
)  # fmt: skip
