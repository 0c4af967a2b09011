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
