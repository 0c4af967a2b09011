"""Does a better cost model find better placements? Searches at equal CPU time, judged by the simulator."""

from __future__ import annotations

import time
from typing import Any, Final

import numpy as np

from gridloom import registry
from gridloom.estimate.dataflow import Pipeline
from gridloom.learn import cost_model_data as data
from gridloom.map.budget import Budget
from gridloom.map.dataflow_search import DataflowConfig
from gridloom.mapping.model import Failure, Mapping
from gridloom.run.work import Work

#: What is searched; none of it is in the training set, and nothing of the last two families is.
SUBJECTS: Final[tuple[tuple[str, dict[str, int]], ...]] = (
    ("mlp", {"width": 512, "layers": 3}),
    ("mha", {"width": 512, "heads": 8, "rows": 64}),
    ("bert_large", {"layers": 1, "section": 1}),
    ("gpt2_xl", {"layers": 1, "section": 4}),
)
_CHAINS: Final = 4


def compare(work: Work, *, seconds: float, seeds: int, start: str = "random") -> dict[str, Any]:
    """For each subject the efficiencies that searches by the two cost models reach, and the best that is known.

    Every search begins at random and has the same CPU seconds (turned into moves by timing some of them first); its
    finalists are measured by the simulator and the best of them counts. The best known comes from a search by the
    simulator that begins with short ways, or from any of the searches.
    """
    rows = []
    for number, (family, graph) in enumerate(SUBJECTS):
        if work.over():
            break
        found = data.graph_pipeline(family, tuple(sorted(graph.items())), "present")
        reached: dict[str, list[float]] = {}
        moves: dict[str, int] = {}
        for cost in ("heuristic", "learned"):
            moves[cost] = _moves(found, cost, seconds)
            for seed in range(seeds):
                work.progress(f"{family}: {cost}, seed {seed}", (number + 0.1 * seed) / len(SUBJECTS))
                reached.setdefault(cost, []).append(_search(found, cost, moves[cost], seed, start))
        long = _search(found, "simulated", _moves(found, "simulated", 4 * seconds), 0, "short")
        best = max([long, *(value for values in reached.values() for value in values)])
        rows.append(_row(family, graph, found, reached, moves, best))
    return {"cpu_seconds_a_search": seconds, "seeds": seeds, "start": start, "rows": rows}


def _row(
    family: str,
    graph: dict[str, int],
    found: Pipeline,
    reached: dict[str, list[float]],
    moves: dict[str, int],
    best: float,
) -> dict[str, Any]:
    rule, learned = (float(np.mean(reached[cost])) for cost in ("heuristic", "learned"))
    gap = best - rule
    return {
        "network": ",".join([family, *(f"{key}={value}" for key, value in graph.items())]),
        "units": found.units,
        "heuristic": [round(value, 4) for value in reached["heuristic"]],
        "learned": [round(value, 4) for value in reached["learned"]],
        "best_known": round(best, 4),
        "gain": round(learned / rule - 1, 4),
        "gap_closed": round((learned - rule) / gap, 3) if gap > 1e-9 else None,
        "moves": moves,
    }


def _config(cost: str, start: str) -> DataflowConfig:
    if start == "short":
        return DataflowConfig(cost=cost, start="short", chains=_CHAINS)
    # The cost model alone guides: no price of wire, which knows what matters on this array.
    return DataflowConfig(cost=cost, start="random", chains=_CHAINS, wire=0.0)


def _search(found: Pipeline, cost: str, moves: int, seed: int, start: str) -> float:
    mapping = _dataflow(found, _config(cost, start), Budget(effort=moves, seed=seed))
    value: float = 0.0 if isinstance(mapping, Failure) else mapping.provenance["efficiency"]
    return value


def _dataflow(found: Pipeline, config: DataflowConfig, budget: Budget) -> Mapping | Failure:
    result: Mapping | Failure = registry.load("mappers", "dataflow")(found.dfg, found.arch, config, budget)
    return result


def _moves(found: Pipeline, cost: str, seconds: float) -> int:
    """Moves that a search makes in so many CPU seconds."""
    steps = 2 if cost == "simulated" else 40
    config = DataflowConfig(cost=cost, judge=None, start="random", chains=_CHAINS, wire=0.0)
    _dataflow(found, config, Budget(effort=_CHAINS, seed=0))
    began = time.process_time()
    _dataflow(found, config, Budget(effort=steps * _CHAINS, seed=0))
    each = (time.process_time() - began) / ((steps + 1) * _CHAINS)
    return max(_CHAINS, int(seconds / each))
