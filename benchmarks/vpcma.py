"""Claims about rows of ALUs, beside the paper on mapping by deep learning: widths, mappability, partitioning."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cells import figures_of, group, map_cell, mean, questions, table_by
from benchmarks.claim import MAPPING, Claim, Row, Rows
from gridloom.statistics import compare_pairs

ROWS = (*MAPPING, "targets.rows")
KERNELS = ("cma_aes", "cma_radix4_fft", "cma_rgb_to_ycc", "cma_dct8", "cma_md5")
#: Graphs whose execution time is minimised, and for how many iterations.
SOURCES = (*(f"kernel:{name}" for name in KERNELS), "kernel:md5_step,steps=12", "kernel:sha1_step,steps=10")
ITERATIONS = (16, 64, 256, 4096)
#: Graphs on which the control of starts is measured.
CONTROLLED = (*SOURCES[:-1], "kernel:md5_step,steps=6")
#: Table 3 of the paper: operations, parts, throughput by the model and real, graphs explored, attempts saved.
TABLE_3 = {
    "cma_aes": (45, 1, 1.00, 1.00, 3, 2), "cma_radix4_fft": (46, 1, 1.00, 1.00, 3, 2),
    "cma_rgb_to_ycc": (30, 2, 1.50, 1.71, 3, 2), "cma_dct8": (63, 4, 0.353, 0.353, 8, 4),
    "cma_md5": (176, 10, 0.211, 0.191, 21, 8),
}  # fmt: skip


def cut_graph(asked: Row) -> Row:
    """Run the partitioning flow on a kernel; ``attempts_saved`` are searches that the estimate made needless."""
    from gridloom.flow.partition.flow import PUBLISHED, PartitionRequest, partition

    published = asked["estimator"] == "published"
    options: Row = {**PUBLISHED, "evaluations": 500} if published else {"estimator": asked["estimator"]}
    found = partition(PartitionRequest(source=f"kernel:{asked['kernel']}", arch="vpcma", seed=asked["seed"], **options))
    record = found.to_dict()
    kept = ("status", "k", "throughput_model", "throughput_real", "explored", "attempts", "attempts_saved",
            "whole_simulated")  # fmt: skip
    spent = record["cpu_seconds"]
    return {"ops": record["dfg"]["ops"], **{name: record[name] for name in kept},
            "cpu": spent["total"], "cpu_in_vain": spent["map_in_vain"]}  # fmt: skip


def evaluate_model(model: str, **settings: Any) -> Row:
    """Return what ``gridloom eval`` says of a model's shipped weights, made from an empty folder."""
    from gridloom import registry
    from gridloom.run import WorkFolder

    found = registry.load("models", model)
    with tempfile.TemporaryDirectory(prefix="gridloom-eval-") as folder:
        result: Row = found.evaluate(found.config(**settings), WorkFolder(folder=Path(folder), jobs=1))
    return result


def judge_widths(asked: Row) -> list[Row]:
    """Return accuracy and widths of each estimator on families that it was not trained on.

    ``of`` is the stratum: all graphs of the main array that only a search decides, or a range of sizes.
    """
    found = evaluate_model("mappability", folds=asked["folds"], dgcnn=asked["dgcnn"])
    return [
        {"model": model, "of": stratum, **figures, "ms_per_graph": found["ms_per_graph"]}
        for model in ("linear", "trees", "dgcnn", "constant", "bound") if model in found
        for stratum, figures in found[model]["strata"].items() if stratum.split(":")[0] == stratum.split(": ")[0]
    ]  # fmt: skip


def step_counts(asked: Row) -> list[Row]:
    """Return the parts at each depth of the tree that partitioning a kernel makes."""
    from gridloom.flow.partition.flow import PartitionRequest, partition

    record = partition(PartitionRequest(source=f"kernel:{asked['kernel']}", arch="vpcma", seed=asked["seed"])).to_dict()
    level, depth, rows = [record["tree"]], 0, []
    while level:
        verdicts = [part["verdict"] for part in level]
        rows.append({"depth": depth, "graphs": len(level), "ops": sum(part["ops"] for part in level),
                     "chosen": sum(part["chosen"] for part in level),
                     **{name: verdicts.count(name) for name in sorted(set(verdicts))}})  # fmt: skip
        level, depth = [child for part in level for child in part["children"]], depth + 1
    return rows


def time_iterations(asked: Row) -> list[Row]:
    """Return the cycles of some iterations: partitioned for them, for the throughput, and for a single iteration.

    The last is one part wherever one is found.
    """
    from gridloom.flow.partition.flow import PartitionRequest, partition

    def run(minimised: int | None) -> Any:
        return partition(PartitionRequest(source=asked["source"], arch="vpcma", seed=asked["seed"],
                                          loop_iterations=minimised))  # fmt: skip

    def cycles(found: Any, iterations: int) -> Any:
        return replace(found, request=replace(found.request, loop_iterations=iterations)).execution_cycles

    throughput, one, rows = run(None), run(1), []
    for iterations in ITERATIONS:
        ours = run(iterations)
        rivals = {"throughput": cycles(throughput, iterations), "one_part": cycles(one, iterations)}
        rows.append({
            "ops": ours.to_dict()["dfg"]["ops"], "iterations": iterations, "k": len(ours.parts),
            "cycles": ours.execution_cycles, "throughput_k": len(throughput.parts),
            "throughput_cycles": rivals["throughput"], "one_k": len(one.parts), "one_cycles": rivals["one_part"],
            "best_rival": min((n for n in rivals.values() if n is not None), default=None),
            "expected": throughput.throughput_model, "real": throughput.throughput_real,
        })  # fmt: skip
    return rows


def end_starts(asked: Row) -> Row:
    """Return throughput and CPU seconds of partitioning with and without an early end of hopeless starts."""
    from unittest import mock

    from gridloom.flow.partition.flow import PartitionRequest, partition
    from gridloom.targets.rows.mappers import width
    from gridloom.targets.rows.mappers.search import NEVER

    request = PartitionRequest(source=asked["source"], arch="vpcma", seed=asked["seed"])
    ended = partition(request)
    with mock.patch.object(width, "HOPEFUL", NEVER):
        whole = partition(request)
    return {"throughput": ended.throughput_real, "throughput_whole": whole.throughput_real,
            "cpu": round(ended.cpu_seconds, 3), "cpu_whole": round(whole.cpu_seconds, 3),
            "in_vain": round(ended.spent.in_vain, 3), "in_vain_whole": round(whole.spent.in_vain, 3)}  # fmt: skip


def control_figures(rows: Rows) -> Row:
    """Return the CPU time of ended starts over that of whole ones, an interval over graphs, and equal throughputs."""
    import numpy as np

    by_graph = [np.array([[row["cpu"], row["cpu_whole"]] for row in part]).sum(axis=0)
                for _, part in group(rows, "source")]  # fmt: skip
    draws = np.random.default_rng(0).integers(len(by_graph), size=(2000, len(by_graph)))
    sums = np.array(by_graph)[draws].sum(axis=1)
    low, high = np.percentile(sums[:, 0] / sums[:, 1], [2.5, 97.5])
    total = np.array(by_graph).sum(axis=0)
    return {"ratio": round(float(total[0] / total[1]), 3), "low": round(float(low), 3), "high": round(float(high), 3),
            "equal": sum(row["throughput"] == row["throughput_whole"] for row in rows),
            "lower": sum((row["throughput"] or 0) < (row["throughput_whole"] or 0) for row in rows)}  # fmt: skip


def count_worse(rows: Rows) -> Row:
    """Return how many rows take more cycles than the better rival, and what is saved against the throughput's parts."""
    known = [row for row in rows if row["cycles"] and row["best_rival"]]
    saved = {f"saved_{n}": 1 - mean("cycles")(part) / mean("throughput_cycles")(part)
             for (n,), part in group(known, "iterations")}  # fmt: skip
    return {"worse": sum(row["cycles"] > row["best_rival"] for row in known), "compared": len(known), **saved}


def count_sizes(asked: Row) -> list[Row]:
    """Return the mappable share and the utilisation of the package's labels by size."""
    from gridloom import registry

    found: list[Row] = registry.load("models", "mappability").by_size(None, asked["step"])
    return found


def partition_verdicts(rows: Rows) -> list[str]:
    """Return what throughput and CPU time say of each estimator beside counting alone."""
    parts = {name: part for (name,), part in group(rows, "estimator")}
    found = []
    for name, part in parts.items():
        if name != "bound":
            for column, more in (("throughput_real", True), ("cpu", False)):
                ours, base = ({(r["kernel"], r["seed"]): r[column] for r in side} for side in (part, parts["bound"]))
                said = compare_pairs(ours, base, more_is_better=more).sentence(f"`{name}`", "`bound`")
                found.append(f"{column}: {said}")
    return found


def drop_constants(asked: Row) -> Row:
    """Return how many of the graphs without mapping or proof map once their constants are dropped."""
    from gridloom.learn.labels import array_of, unpack
    from gridloom.targets.rows.learned.question import QUESTION
    from gridloom.targets.rows.mappers.problem import CONST, flatten
    from gridloom.targets.rows.mappers.search import TURNS, Starts

    go, mapped = np.zeros(1, dtype=np.uint8), 0
    rows = [row for row in unpack(QUESTION) if row.decided == "exhausted"][: asked["most"]]
    for row in rows:
        arch = array_of(row.arch)
        graph = flatten(QUESTION.read(row.source, arch), arch)
        kept = graph.group[graph.source] != CONST
        arrays = {name: getattr(graph, name)[kept] for name in ("edges", "source", "target", "operand")}
        search = Starts(replace(graph, **arrays), arch)
        layouts = (
            search.start(arch.cols, seed, search.moves(effort), None, go, go, turn)
            for seed, (effort, turn) in enumerate(zip((0.5, 1.0, 1.0), TURNS), start=1)
        )
        mapped += any(layout is not None and layout.conflicts == 0 for layout in layouts)
    return {"graphs": len(rows), "map_without_constants": mapped}


CLAIMS = (
    Claim(
        name="vpcma/constants", measures="graphs without mapping or proof that map once constants are dropped",
        ask=lambda quick: [{"most": 40 if quick else 10_000}], measure=drop_constants, depends=ROWS, minutes=1,
        quick_minutes=0.3, figures=lambda rows: dict(rows[0]),
    ),
    Claim(
        name="vpcma/partition", measures="the partitioning flow on five applications, by estimator",
        ask=lambda quick: questions(kernel=KERNELS, estimator=["learned", "bound"] if quick else
                                    ["learned", "bound", "mapper", "published"],
                                    seed=[0] if quick else [0, 1, 2, 3, 4]),
        measure=cut_graph, depends=(*ROWS, "partition", "learn"), minutes=15, quick_minutes=0.5,
        tolerance={"cpu": 9.0, "cpu_in_vain": float("inf")}, verdicts=partition_verdicts,
        table=table_by("kernel", "estimator", ops=mean("ops"), k=mean("k"), model=mean("throughput_model"),
                       real=mean("throughput_real"), explored=mean("explored"), saved=mean("attempts_saved"),
                       CPU_s=mean("cpu")),
        figures=lambda rows: {
            f"{kernel}_{column}": mean(column)(part)
            for (kernel,), part in group([r for r in rows if r["estimator"] == "learned"], "kernel")
            for column in ("k", "throughput_model", "throughput_real", "explored", "attempts_saved")
        },
    ),
    Claim(
        name="vpcma/md5", measures="the tree of graphs that partitioning MD5 makes, by depth",
        ask=lambda quick: [{"kernel": "cma_md5", "seed": 0}], measure=step_counts,
        depends=(*ROWS, "partition", "learn"), minutes=0.5, quick_minutes=0.5,
        figures=lambda rows: {"graphs": sum(row["graphs"] for row in rows), "chosen": sum(r["chosen"] for r in rows)},
    ),
    Claim(
        name="vpcma/execution", measures="cycles of a number of iterations, partitioned for them and otherwise",
        ask=lambda quick: questions(source=SOURCES, seed=[0] if quick else [0, 1, 2, 3, 4]),
        measure=time_iterations, depends=(*ROWS, "partition", "learn"), minutes=15, quick_minutes=2,
        figures=count_worse,
    ),
    Claim(
        name="vpcma/control", measures="partitioning with and without an early end of starts without hope",
        ask=lambda quick: questions(source=CONTROLLED, seed=[0] if quick else [0, 1, 2, 3, 4]),
        measure=end_starts, depends=(*ROWS, "partition"), minutes=1, quick_minutes=0.3,
        tolerance=dict.fromkeys(("cpu", "cpu_whole", "in_vain", "in_vain_whole"), float("inf")),
        table=table_by("source", throughput=mean("throughput"), throughput_whole=mean("throughput_whole"),
                       cpu=mean("cpu"), cpu_whole=mean("cpu_whole"), in_vain=mean("in_vain"),
                       in_vain_whole=mean("in_vain_whole")),
        figures=control_figures,
    ),
    Claim(
        name="vpcma/sizes", measures="mappable share and utilisation of the package's labels, by operations",
        ask=lambda quick: [{"step": 10}], measure=count_sizes, depends=("targets.rows", "learn"), minutes=0.1,
        quick_minutes=0.1,
        figures=lambda rows: {"small": rows[0]["mappable"], "large": rows[-1]["mappable"],
                              "most": max(row["utilisation"] or 0 for row in rows)},
    ),
    Claim(
        name="vpcma/mappability", measures="accuracy of estimators of mappability and width, on held-out families",
        ask=lambda quick: [{"folds": 5, "dgcnn": True}], measure=judge_widths, depends=(*ROWS, "learn"), minutes=3,
        quick_minutes=3,
        tolerance={"ms_per_graph": 9.0, "accuracy": 0.03, "recall": 0.03, "false_positive_rate": 0.5,
                   "exact_width": 0.03,
                   "width_error": 0.5, "accuracy_interval": float("inf")},
        needs=("torch",),
        figures=lambda rows: next((dict(r) for r in rows if (r["model"], r.get("of")) == ("linear", "vpcma")), {}),
    ),
    Claim(
        name="vpcma/width", measures="columns that graphs take on the main array, by search effort",
        ask=lambda quick: questions(source=[f"kernel:{name}" for name in KERNELS], arch="vpcma", mapper="width",
                                    effort=[500_000, 2_000_000] if quick else [500_000, 2_000_000, 20_000_000],
                                    seed=[1] if quick else [1, 2, 3]),
        measure=map_cell, depends=ROWS, minutes=10, quick_minutes=0.7,
        table=table_by("source", "effort", status=lambda rows: rows[0]["status"], width=mean("width"),
                       bound=mean("bound")), figures=figures_of(width=mean("width")),
    ),
)  # fmt: skip
