"""Claims about dataflow grids, beside the paper on a learned cost model."""

from __future__ import annotations

import gridloom as gl
from benchmarks.cells import largest, mean, questions, rivals, source_of, table_by
from benchmarks.claim import MAPPING, Claim, Row

DATAFLOW = (*MAPPING, "targets.dataflow")
NETWORKS = ("gemm,inner=256,columns=256", "mlp,width=256", "ffn,width=256", "mha,width=256,heads=4,rows=64")


def map_network(asked: Row) -> Row:
    """Map a network by sections; the period is in cycles per sample."""
    result = gl.map(source_of(asked["source"]), asked["arch"], effort=asked["effort"], seed=asked["seed"],
                    settings=asked.get("settings"))  # fmt: skip
    found = result.to_dict()
    return {"status": found["status"], "sections": sum(item.count for item in result.sections) or 1,
            "period": found["period"], "latency": found["latency"], "nodes": found["dfg"]["nodes"]}  # fmt: skip


CLAIMS = (
    Claim(
        name="dataflow/networks", measures="networks on a 16 x 8 grid: cycles per sample",
        ask=lambda quick: questions(source=[f"model:{name}" for name in NETWORKS], arch="rdu:16x8",
                                    effort=500 if quick else 5_000, seed=[1] if quick else [1, 2, 3]),
        measure=map_network, depends=DATAFLOW, minutes=10, quick_minutes=1, tolerance={"period": 1e-6, "latency": 1e-6},
        table=table_by("source", sections=largest("sections"), period=mean("period"), latency=mean("latency")),
        figures=lambda rows: {"period": mean("period")(rows)},
    ),
    Claim(
        name="dataflow/cost-models", measures="cycles per sample of placements found with different cost models",
        ask=lambda quick: questions(mapper=["bottleneck", "learned", "heuristic", "wirelength"],
                                    source=[f"model:{name}" for name in NETWORKS[1:3]], arch="rdu:16x8",
                                    effort=500 if quick else 5_000,
                                    seed=[1, 2] if quick else [1, 2, 3, 4, 5]),
        measure=lambda asked: map_network({**asked, "settings": {"cost": asked["mapper"]}}), depends=DATAFLOW,
        minutes=20, quick_minutes=1, tolerance={"period": 1e-6, "latency": 1e-6},
        table=table_by("source", "mapper", period=mean("period")), verdicts=rivals("period"),
        figures=lambda rows: {"period": mean("period")(rows)},
    ),
)  # fmt: skip
