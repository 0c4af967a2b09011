"""Claims about streaming engines, beside the paper on mapping by reinforcement learning."""

from __future__ import annotations

from benchmarks import cells
from benchmarks.cells import largest, map_cell, mapped_of, mean, questions, rivals, table_by
from benchmarks.claim import MAPPING, Claim, Row, Rows

STREAMING = (*MAPPING, "targets.streaming")
ENGINE = "streaming-engine:16,spokes=6"


def ask_strict(quick: bool) -> list[Row]:
    """Return a question for each cell of the suite of strict engines and each mapper."""
    from gridloom.flow.bench.suite import load_suite

    asked = list(dict.fromkeys((cell.source, cell.arch) for cell in load_suite("se-strict").cells()))
    return [
        {"source": source, "arch": arch, "mapper": mapper, "effort": effort if quick else 8 * effort, "seed": seed}
        for source, arch in cells.first_of(asked, 6, quick)
        for mapper, effort in (("ppo", 2_000), ("anneal", 10_000), ("spokes-random", 10_000))
        for seed in ([1] if quick else [1, 2, 3])
    ]


def engine_figures(rows: Rows) -> Row:
    """Return mapped cells and means by mapper."""
    return {f"{name}_{key}": value for (name,), part in cells.group(rows, "mapper")
            for key, value in (("mapped", mapped_of(part)), ("ii", mean("ii")(part)),
                               ("latency", mean("latency")(part)))}  # fmt: skip


_TABLE = table_by("mapper", mapped=mapped_of, mean_II=mean("ii"), mean_latency=mean("latency"),
                  mean_MII=mean("mii"))  # fmt: skip

CLAIMS = (
    Claim(
        name="streaming/programs", measures="vector addition, distance and IFFT on an engine of 16 tiles",
        ask=lambda quick: questions(source=["kernel:vector_add", "kernel:distance", "kernel:ifft"], arch=ENGINE,
                                    mapper=["ppo", "anneal"], effort=4_000 if quick else 20_000,
                                    seed=[1] if quick else [1, 2, 3]),
        measure=map_cell, depends=STREAMING, minutes=2, quick_minutes=0.7, figures=engine_figures,
        table=table_by("source", "mapper", mapped=mapped_of, II=largest("ii"), MII=largest("mii"),
                       latency=mean("latency")), verdicts=rivals("ii"),
    ),
    Claim(
        name="streaming/sizes", measures="random graphs of 10 to 50 nodes, by the policy and by annealing",
        ask=lambda quick: [
            {"source": f"kernel:random_growing,nodes={nodes},inputs={inputs},seed=1,domain=opaque",
             "arch": f"streaming-engine:{tiles},spokes=6", "mapper": mapper, "effort": 2_000 if quick else 20_000,
             "seed": seed}
            for nodes, tiles, inputs in ((10, 16, 4), (15, 16, 4), (20, 16, 4), (40, 64, 8), (50, 64, 8))
            for mapper in ("ppo", "anneal", "spokes-random") for seed in ([1] if quick else [1, 2, 3])
        ],
        measure=map_cell, depends=STREAMING, minutes=5, quick_minutes=0.7, figures=engine_figures,
        table=table_by("source", "mapper", mapped=mapped_of, II=mean("ii"), latency=mean("latency")),
        verdicts=rivals("latency"),
    ),
    Claim(
        name="streaming/strict", measures="engines at level strict by the policy, by annealing and at random",
        ask=ask_strict, measure=map_cell, depends=STREAMING, minutes=30, quick_minutes=1, figures=engine_figures,
        table=_TABLE, verdicts=rivals("ii"),
    ),
)  # fmt: skip
