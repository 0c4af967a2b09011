"""Claims about dataflow grids, beside the paper on a learned cost model."""

from __future__ import annotations

import time
from typing import Any

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


def start_cold(asked: Row) -> Row:
    """Return the cycles of one sample from an array without configuration, simulated and by formula, over all sections.

    The formula takes all channels of the DRAM as busy all the time, a block for each double buffer that has to fill,
    and a sample at the steady period. ``whole`` simulates all blocks of a sample.
    """
    from gridloom.targets.dataflow.sections.cold_start import section_start

    result = gl.map(asked["source"], asked["arch"], effort=asked["effort"], seed=1)
    totals = dict.fromkeys(("configure", "load", "fill", "rest", "formula"), 0.0)
    for item in result.sections:
        mapping = item.result.mapping
        start = section_start(mapping, item.section, whole=True) if asked["whole"] and mapping else item.start
        found = start.figures
        steps = (found.configured, found.loaded - found.configured, found.first_output - found.loaded,
                 found.last_output - found.first_output)  # fmt: skip
        for name, cycles in zip(totals, (*steps, formula_cycles(item))):
            totals[name] += cycles * item.count
    simulated = sum(totals[name] for name in ("configure", "load", "fill", "rest"))
    return {"sections": sum(item.count for item in result.sections), **{k: round(v) for k, v in totals.items()},
            "simulated": round(simulated), "formula_off": round(totals["formula"] / simulated - 1, 4)}  # fmt: skip


def formula_cycles(item: Any) -> float:
    """Return the cycles of a section by formula: configuration, weights, the pipeline's fill, and a sample."""
    from gridloom.archs.spec import parameters
    from gridloom.targets.dataflow import rates
    from gridloom.targets.dataflow.families.rdu import RduParameters

    section, arch = item.section, item.result.arch
    p = parameters(RduParameters, arch.spec)
    channels = max(1, min(p.dram_channels, sum(tile.kind == "dram" for tile in arch.tiles)))

    def read(vectors: int) -> int:
        busy = p.dram_cycles * -(-vectors // channels)
        refresh = busy // (p.refresh_every - p.refresh_cycles) * p.refresh_cycles
        return int(busy + refresh + p.dram_latency) if vectors else 0

    period = float(item.result.metrics["period"] or 0.0)
    depth = max(rates.stages(section.dfg, rates.repetitions(section.dfg)), default=0)
    fill = period * depth + (item.cycles if section.held else 0.0)
    weights = read(section.weights * section.copies)
    return float(read(len(section.dfg.nodes) * p.configure_vectors) + weights + fill + item.cycles)


def time_meter(asked: Row) -> list[Row]:
    """Return measurements per CPU second of the simulator of dataflow units, for each section of a network."""
    from gridloom.targets.dataflow.learned import data
    from gridloom.targets.dataflow.learned.search_comparison import parts
    from gridloom.targets.dataflow.machine.measure import Meter
    from gridloom.targets.dataflow.mappers.place_kernel import seed_generator
    from gridloom.targets.dataflow.mappers.search import AnnealingChains, DataflowConfig

    rows = []
    for part in parts((asked["network"], {})):
        search = AnnealingChains(part.pipeline, DataflowConfig(chains=4), 0)
        seed_generator(0)
        search.shorten()
        decisions = data.route_places(part.pipeline, search.places, "present")
        meter = Meter(part.pipeline.dfg, part.pipeline.arch)
        meter.measure(*decisions.routes(0))
        began = time.process_time()
        for k in range(4):
            meter.measure(*decisions.routes(k))
        rate = 4 / max(1e-6, time.process_time() - began)
        rows.append({"section": part.section, "units": part.pipeline.units, "per_second": round(rate, 1)})
    return rows


CLAIMS = (
    Claim(
        name="dataflow/cold-start", measures="cycles of one sample alone, from an array without configuration",
        ask=lambda quick: questions(source=[f"model:{name}" for name in (NETWORKS if quick else (
            "mlp", "mha", "bert_large,layers=1", "gpt2_xl,layers=1"))], arch="rdu:16x8", effort=200, whole=not quick),
        measure=start_cold, depends=DATAFLOW, minutes=30, quick_minutes=1,
    ),
    Claim(
        name="dataflow/meter", measures="measurements per CPU second of the simulator of dataflow units",
        ask=lambda quick: questions(network="mlp" if quick else "bert_large"), measure=time_meter, depends=DATAFLOW,
        minutes=10, quick_minutes=0.5, tolerance={"per_second": 9.0},
    ),
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
                                    seed=[1] if quick else [1, 2, 3, 4, 5]),
        measure=lambda asked: map_network({**asked, "settings": {"cost": asked["mapper"]}}), depends=DATAFLOW,
        minutes=20, quick_minutes=1, tolerance={"period": 1e-6, "latency": 1e-6},
        table=table_by("source", "mapper", period=mean("period")), verdicts=rivals("period"),
        figures=lambda rows: {"period": mean("period")(rows)},
    ),
)  # fmt: skip
