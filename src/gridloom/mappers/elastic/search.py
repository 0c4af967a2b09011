"""Annealing of dataflow placements: chains side by side, scored in batches by a cost model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gridloom import registry
from gridloom.errors import OptionError
from gridloom.estimate.dataflow import CostModel, Decisions, Floats, Guide, Ints, Pipeline
from gridloom.mappers.budget import Clock
from gridloom.mappers.elastic.route import route
from gridloom.mappers.settings import check_settings

#: Moves when the budget has no limit.
_DEFAULT_EFFORT = 8_000


@dataclass(frozen=True, kw_only=True)
class DataflowConfig:
    """Settings of the annealer."""

    #: The cost model that guides the search: a name of ``gridloom list costs``.
    cost: str = "learned"
    #: The cost model that chooses among the finalists; none: the first one's word counts.
    judge: str | None = "simulated"
    #: Chains that anneal side by side and are scored together.
    chains: int = 16
    #: How chains begin: at random, or from a quick annealing of rate times distance.
    start: Literal["random", "short"] = "short"
    #: Temperatures of the first and of the last move, in units of efficiency.
    hot: float = 0.003
    cold: float = 0.0003
    #: Share of moves that bring an end of a flow near the other.
    aimed: float = 0.8
    #: What a hop of mean route length costs, in units of efficiency: decides between equals.
    wire: float = 0.002
    #: Placements that the judge sees.
    finalists: int = 8
    #: Congestion-aware routes; else the shortest, columns first.
    aware: bool = True
    #: Nodes that stay on given tiles.
    pin: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        words = {"start": ("random", "short")}
        check_settings(self, one_of=words, at_least={"chains": 1, "finalists": 1, "wire": 0}, shares=("aimed",))
        if not 0 < self.cold <= self.hot:
            raise OptionError(f"cold and hot: expected 0 < cold <= hot, found {self.cold} and {self.hot}")


class Search:
    """Chains of one run; their places change as it goes on."""

    def __init__(self, found: Pipeline, config: DataflowConfig, seed: int) -> None:
        self.pipeline, self.config = found, config
        self.model: CostModel = registry.load("costs", config.cost)()
        self.random = np.random.default_rng(seed)
        self.seed = seed
        arch = found.arch
        self.rows = np.array([tile.row for tile in arch.tiles], dtype=np.int64)
        self.cols = np.array([tile.col for tile in arch.tiles], dtype=np.int64)
        by_kind = [[t for t, tile in enumerate(arch.tiles) if tile.kind == kind] for kind in ("cu", "mu", "dram")]
        self.tile_start = np.cumsum([0, *map(len, by_kind)]).astype(np.int64)
        self.tiles = np.array([t for group in by_kind for t in group], dtype=np.int64)
        self.heavy = np.cumsum(np.sqrt(found.rate)) if found.flows else np.ones(1)
        self.fixed: NDArray[np.bool_] = np.zeros(found.units, dtype=np.bool_)
        self.places = self._random_places(config.chains)
        self.holder = np.full((config.chains, len(arch.tiles)), -1, dtype=np.int64)
        for chain in range(config.chains):
            self.holder[chain, self.places[chain]] = np.arange(found.units)
        self.scores: Floats = np.zeros(config.chains)
        #: Every chain's best: (score, places).
        self.best: list[tuple[float, Ints]] = []

    def _random_places(self, count: int) -> Ints:
        places = np.empty((count, self.pipeline.units), dtype=np.int64)
        pinned = self._pins()
        for chain in range(count):
            for code in range(3):
                units = [u for u in np.flatnonzero(self.pipeline.unit_kind == code) if u not in pinned]
                group = self.tiles[self.tile_start[code] : self.tile_start[code + 1]]
                free = group[~np.isin(group, list(pinned.values()))]
                places[chain, units] = self.random.permutation(free)[: len(units)]
            for unit, tile in pinned.items():
                places[chain, unit] = tile
        return places

    def _pins(self) -> dict[int, int]:
        pinned: dict[int, int] = {}
        for node, tile in self.config.pin.items():
            unit, place = self.pipeline.dfg.index[node], self.pipeline.arch.tile_index[tile]
            if place not in self.tiles[self.tile_start[k := self.pipeline.unit_kind[unit]] : self.tile_start[k + 1]]:
                raise OptionError(f"{node} cannot run on {tile}", where="--pin")
            pinned[unit] = place
            self.fixed[unit] = True
        return pinned

    def score(self, places: Ints) -> tuple[Floats, Decisions]:
        """What the cost model says of placements, less the price of wire."""
        decisions = route(self.pipeline, places, aware=self.config.aware)
        prefer = self.model.preference if isinstance(self.model, Guide) else self.model.efficiency
        scores = prefer(self.pipeline, decisions)
        hops = np.diff(decisions.route_start).reshape(len(places), self.pipeline.flows)
        mean = hops @ self.pipeline.rate / max(1e-12, float(self.pipeline.rate.sum()))
        return np.asarray(scores - self.config.wire * mean, dtype=np.float64), decisions

    def run(self, clock: Clock) -> None:
        """Anneal until the budget is used up."""
        from gridloom.mappers.elastic import place_kernel as kernel

        config, found = self.config, self.pipeline
        kernel.seed_generator(self.seed)
        if config.start == "short" and found.flows:
            self._shorten()
        self.scores = self.score(self.places)[0]
        self.best = [(float(self.scores[k]), self.places[k].copy()) for k in range(config.chains)]
        effort = clock.budget.effort or (None if clock.budget.time_limit else _DEFAULT_EFFORT)
        moved = np.zeros((config.chains, 2), dtype=np.int64)
        step = 0
        while not clock.over() and (effort is None or clock.moves < effort):
            done = self._progress(clock, effort)
            heat = config.hot * (config.cold / config.hot) ** done
            kernel.propose(
                self.places, self.holder, config.aimed, 12.0 * done, found.source, found.target, self.heavy,
                found.unit_kind, self.fixed, self.tile_start, self.tiles, self.rows, self.cols, moved,
            )  # fmt: skip
            scores = self.score(self.places)[0]
            luck = self.random.random(config.chains)
            accepted = luck < np.exp(np.minimum(0.0, (scores - self.scores) / heat))
            kernel.take_back(self.places, self.holder, moved, accepted)
            self.scores = np.where(accepted, scores, self.scores)
            self._remember()
            clock.moves += config.chains
            step += 1
            if step % 64 == 0:
                self._concentrate(done)
                clock.report("annealing", f"score {max(score for score, _ in self.best):.3f}")

    def _shorten(self) -> None:
        from gridloom.mappers.elastic import place_kernel as kernel

        found = self.pipeline
        ends: list[list[int]] = [[] for _ in range(found.units)]
        for f in range(found.flows):
            for unit in {int(found.source[f]), int(found.target[f])}:
                ends[unit].append(f)
        start = np.cumsum([0, *map(len, ends)]).astype(np.int64)
        flat = np.array([f for row in ends for f in row], dtype=np.int64)
        kernel.shorten(
            self.places, self.holder, 300, found.source, found.target, found.rate, start, flat, found.unit_kind,
            self.fixed, self.tile_start, self.tiles, self.rows, self.cols,
        )  # fmt: skip

    def _progress(self, clock: Clock, effort: int | None) -> float:
        by_time = 0.0 if clock.budget.time_limit is None else clock.seconds / clock.budget.time_limit
        by_moves = 0.0 if effort is None else clock.moves / effort
        return min(1.0, max(by_time, by_moves))

    def _remember(self) -> None:
        for chain in range(self.config.chains):
            if self.scores[chain] > self.best[chain][0]:
                self.best[chain] = (float(self.scores[chain]), self.places[chain].copy())

    def _concentrate(self, done: float) -> None:
        """Late in a run the worst chain goes on from the best one's place."""
        if done < 0.3:
            return
        worst, best = int(np.argmin(self.scores)), int(np.argmax(self.scores))
        self.places[worst], self.holder[worst] = self.places[best], self.holder[best]
        self.scores[worst] = self.scores[best]

    def finalists(self) -> tuple[Ints, Floats]:
        """The best placements that differ, best first, with their scores."""
        ranked = sorted(self.best, key=lambda item: -item[0])
        chosen: list[tuple[float, Ints]] = []
        for score, places in ranked:
            if len(chosen) < self.config.finalists and not any(np.array_equal(places, other) for _, other in chosen):
                chosen.append((score, places))
        return np.array([places for _, places in chosen]), np.array([score for score, _ in chosen])
