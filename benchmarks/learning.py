"""Claims about learning to place on streaming engines: curves of PPO, its speed, goals, and the policies compared."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import gridloom as gl
from benchmarks.cells import first_of, group, mean, questions, table_by
from benchmarks.claim import MAPPING, Claim, Row, Rows
from gridloom.statistics import compare_pairs

LEARNED = (*MAPPING, "targets.streaming")
IFFT, GROWING = "kernel:ifft", "kernel:random_growing,nodes={},inputs={},seed=1,domain=opaque"
FIFTEEN = GROWING.format(15, 4)
#: Learning depends on the arithmetic of the machine: curves are compared roughly.
_CURVE = {"first": 0.5, "last": 0.5, "best": 0.5}
#: Weights of a tile in use at a fixed II, and of the II; the first goal of each is cycles alone.
TILES_WEIGHTS, II_WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 1000.0), (0.0, 1.0, 2.0, 4.0, 8.0, 32.0)


def learn(asked: Row) -> Row:
    """Train a policy on one graph from scratch; mean cycles of the first and last iterations, and the fewest.

    ``policy`` is the published actor (``gga``), MLPs over the published state (``state``; ``unmasked`` without a mask),
    a policy that sees described slots (``attention``), or the shipped weights of it (``shipped``).
    """
    import torch

    from gridloom.targets.streaming.learned.published.boards import BoardOptions
    from gridloom.targets.streaming.learned.published.ppo import PpoConfig, collect, improve
    from gridloom.targets.streaming.learned.training_graphs import engine, problem_of

    torch.set_num_threads(1)
    torch.manual_seed(asked["seed"])
    problem = problem_of(asked["source"], engine(asked["tiles"], 6))
    policy, config = make_policy(asked["policy"], problem), PpoConfig(rate=1e-3, graphs=1)
    optimiser = torch.optim.Adam(policy.parameters(), lr=config.rate)
    generator, rng = torch.Generator().manual_seed(asked["seed"]), np.random.default_rng(asked["seed"])
    cycles, least = [], []
    for _ in range(asked["iterations"]):
        episode = collect(policy, problem, BoardOptions(**asked["options"]), asked["boards"], generator, config)
        cycles.append(float(episode.cycles))
        least += [float(episode.least)] if episode.least > 0 else []
        improve(policy, optimiser, [episode], config, rng)
    part = max(1, len(cycles) // 5)
    ends = [[value for value in some if np.isfinite(value)] for some in (cycles[:part], cycles[-part:])]
    first, last = (round(float(np.mean(end)), 2) if end else None for end in ends)
    return {"first": first, "last": last, "best": min(least, default=None)}


def make_policy(kind: str, problem: Any) -> Any:
    """Return a policy with random weights; those over the published state have the size of the problem."""
    from gridloom.targets.streaming.learned.published import torch_policies
    from gridloom.targets.streaming.learned.published.training import load_policy

    class Unmasked(torch_policies.StateMlp):
        """The MLPs without a mask: an illegal action is possible, and costs the penalty."""

        def observe(self, batch: Any) -> Any:
            seen = super().observe(batch)
            seen["legal"] = np.tile(batch.running[:, None], (1, self.slots))
            seen["legal"][:, 0] = True
            return seen

    sized = {"unmasked": Unmasked, "state": torch_policies.StateMlp, "gga": torch_policies.PublishedActor}
    if kind in sized:
        return sized[kind](slots=problem.tiles * 6, nodes=problem.size)
    return load_policy(None, "ppo-attention") if kind == "shipped" else torch_policies.make_policy(kind)


def ask_curves(cases: list[Row], iterations: int, boards: int) -> Callable[[bool], list[Row]]:
    """Return a function that asks for curves of three seeds; short ones in the quick variant."""
    return lambda quick: [
        {**case, "iterations": 6 if quick else iterations, "boards": 16 if quick else boards, "seed": seed}
        for case in cases for seed in ([0] if quick else [0, 1, 2])
    ]  # fmt: skip


def curve_case(policy: str, source: str = FIFTEEN, tiles: int = 16, **options: Any) -> Row:
    """Return what one curve is about."""
    label = options.get("order") or policy
    return {"curve": label, "policy": policy, "source": source, "tiles": tiles, "options": options}


def curve_verdicts(rows: Rows) -> list[str]:
    """Return what the last iterations of the first kind of policy say beside those of the others."""
    sides = {
        name: {(row["source"], row["seed"]): row["last"] for row in part} for (name,), part in group(rows, "curve")
    }
    first, *others = sides
    return [compare_pairs(sides[first], sides[other]).sentence(first, other) for other in others]


def play_boards(asked: Row) -> Row:
    """Return placements per CPU second of the batched environment, with masks, observations and new episodes."""
    from gridloom.targets.streaming.learned.published.boards import BoardBatch, BoardOptions, observation
    from gridloom.targets.streaming.learned.training_graphs import engine, problem_of

    batch = BoardBatch(problem_of(asked["source"], engine(asked["tiles"], 6)), asked["boards"], BoardOptions())
    batch.step(batch.random_actions())
    placed, seconds = 0, 0.0
    for _ in range(asked["episodes"]):
        batch.reset()
        while running := int(batch.running.sum()):
            action = batch.random_actions()
            began = time.process_time()
            batch.step(action)
            observation(batch)
            seconds, placed = seconds + time.process_time() - began, placed + running
    return {"placed": placed, "placements_per_second": round(placed / seconds)}


def weigh_goals(asked: Row) -> Row:
    """Return II, cycles and tiles in use of the best of some seeds by a weighted goal."""
    from gridloom.targets.streaming.fuse import fuse

    tiles, ii = asked["tiles_weight"], asked["ii_weight"]
    settings = {"tiles_weight": tiles, **({} if ii is None else {"ii_weight": ii})}
    found = []
    for seed in range(asked["seeds"]):
        result = gl.map(fuse(gl.load(asked["source"])), asked["arch"], mapper="ppo", ii=asked["ii"], seed=seed,
                        effort=asked["effort"], settings=settings)  # fmt: skip
        if result.mapping is not None:
            row = result.to_dict()
            goal = row["latency"] + tiles * row["tiles_used"] + (ii or 0.0) * row["ii"]
            found.append((goal, seed, row["ii"], row["latency"], row["tiles_used"]))
    return dict(zip(("found_ii", "cycles", "tiles_used"), min(found)[2:] if found else (None,) * 3))


def ask_goals(quick: bool) -> list[Row]:
    """Return a question for each weight of a tile in use, and for each of the II."""
    size = {"effort": 1_000 if quick else 30_000, "seeds": 1 if quick else 3}
    curves = [
        {"source": "kernel:kmeans", "arch": "streaming-engine:32,spokes=16", "ii": 8, "tiles_weight": w,
         "ii_weight": None, **size} for w in first_of(TILES_WEIGHTS, 4, quick)
    ] + [
        {"source": IFFT, "arch": "streaming-engine:32,spokes=8", "ii": None, "tiles_weight": 0.0,
         "ii_weight": w, **size}
        for w in first_of(II_WEIGHTS, 3, quick)
    ]  # fmt: skip
    return curves


def compare_policies(asked: Row) -> list[Row]:
    """Return what ``gridloom eval ppo`` says of each policy and mapper with the same CPU time for each graph."""
    from benchmarks.vpcma import evaluate_model

    found = evaluate_model("ppo", columns="random+rank+untrained+mlp+gga+ppo+anneal")
    return [{"policy": name, **row} for name, row in found["summary"].items()]


def _learning(name: str, measures: str, cases: list[Row], iterations: int, boards: int, minutes: float) -> Claim:
    return Claim(
        name=f"streaming/{name}", measures=measures, ask=ask_curves(cases, iterations, boards), measure=learn,
        depends=LEARNED, minutes=minutes, quick_minutes=0.3, needs=("torch", "torch_geometric"), tolerance=_CURVE,
        table=table_by("curve", "source", first=mean("first"), last=mean("last"), best=mean("best")),
        verdicts=curve_verdicts,
        figures=lambda rows: {f"{curve}_{c}": mean(c)(part) for (curve,), part in group(rows, "curve")
                              for c in ("last", "best")},
    )  # fmt: skip


_POLICIES = ("gga", "state", "attention")
CLAIMS = (
    _learning("learning-size", "cycles after equal numbers of decisions, by nodes",
              [curve_case(policy, GROWING.format(nodes, inputs), tiles, reward="bound") for policy in _POLICIES
               for nodes, tiles, inputs in ((10, 16, 4), (15, 16, 4), (20, 16, 4), (40, 64, 8), (50, 64, 8))],
              100, 32, 120),
    _learning("learning-ifft", "cycles while learning to place the IFFT loop",
              [curve_case(policy, IFFT, reward="bound") for policy in _POLICIES], 240, 64, 60),
    _learning("learning-order", "cycles by the order of placement, 15 nodes",
              [curve_case("state", order=order) for order in ("topological", "reverse", "random")], 400, 64, 60),
    _learning("learning-masking", "illegal slots masked, or punished, 15 nodes",
              [curve_case(policy, penalty=20.0) for policy in ("state", "unmasked")], 40, 64, 20),
    _learning("learning-reuse", "weights of other graphs reused, and learned from scratch, 50 nodes",
              [curve_case(policy, GROWING.format(50, 8), 64, reward="bound") for policy in ("shipped", "attention")],
              8, 24, 20),
    Claim(
        name="streaming/environment", measures="placements per CPU second of the batched environment",
        ask=lambda quick: [
            {"source": source, "tiles": tiles, "boards": 64 if quick else boards, "episodes": 2 if quick else 12}
            for source, tiles, boards in ((FIFTEEN, 16, 1024), (IFFT, 16, 1024), (GROWING.format(50, 8), 64, 512))
        ],
        measure=play_boards, depends=LEARNED, minutes=1, quick_minutes=0.2,
        tolerance={"placed": 0.5, "placements_per_second": 9.0},
        figures=lambda rows: {"least": min(row["placements_per_second"] for row in rows)},
    ),
    Claim(
        name="streaming/goals", measures="cycles against tiles in use, and against the II, by the weight of each",
        ask=ask_goals, measure=weigh_goals, depends=LEARNED, minutes=20, quick_minutes=0.5,
    ),
    Claim(
        name="streaming/policies", measures="policies and mappers with the same CPU time for each graph",
        ask=lambda quick: questions(suite="strict"), measure=compare_policies, depends=LEARNED, minutes=120,
        needs=("torch",), tolerance=dict.fromkeys(("without", "at_best_ii", "cycles_excess", "ii_excess"), 0.5),
    ),
)  # fmt: skip
