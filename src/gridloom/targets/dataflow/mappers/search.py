"""Annealing of dataflow placements: chains side by side, scored in batches by a cost model.

A batch exists because cost models, learned ones above all, score many placements in little more time than one. The
chains share a temperature and nothing else, except that late in a run the worst goes on from the best.

Scores are higher for better placements (efficiency, less a price for wire), unlike the costs of the other mappers. The
temperature falls by the larger of the shares of time and of moves that are used up; so with an effort and no time
limit, the same seed gives the same mapping.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from gridloom import registry
from gridloom.errors import OptionError
from gridloom.search.arrays import Uint8s, csr64
from gridloom.search.budget import SearchClock
from gridloom.search.placements import GivenPlacements
from gridloom.search.settings import check_settings
from gridloom.targets.dataflow.costs.load import CostModel, Decisions, Floats, Guide, Ints, Pipeline, Ranged
from gridloom.targets.dataflow.mappers.route import route
from gridloom.targets.dataflow.mappers.tables import Chains, PipelineUnits, Sites

# Moves when the budget has no limit.
_DEFAULT_EFFORT = 8_000
# The cost model that takes the place of one that knows nothing of an array.
_FALLBACK = "bottleneck"
# Moves per unit by which a chain is made short before the cost model is asked.
_SWEEPS = 300


@dataclass(frozen=True, kw_only=True)
class DataflowConfig(GivenPlacements):
    """Settings of the annealer. OptionError for a value out of range, or for ``cold`` above ``hot``."""

    #: The cost model that guides the search: a name of ``gridloom list costs``.
    cost: str = "bottleneck"
    #: Weights of the cost model ``learned``, which then guides: a file that `gridloom train cost-model -o` wrote.
    weights: str | None = None
    #: The cost model that chooses among the finalists; none: the cost model of the search chooses.
    judge: str | None = "simulated"
    #: Chains that anneal side by side and are scored together.
    chains: int = 16
    #: How chains begin: ``random``, or ``short``, from a quick annealing of rate times distance.
    start: Literal["random", "short"] = "short"
    #: Temperature of the first move, in units of efficiency.
    hot: float = 0.003
    #: Temperature of the last move, in units of efficiency.
    cold: float = 0.0003
    #: Share of moves that bring an end of a flow near the other.
    aimed: float = 0.8
    #: What a hop of mean route length costs, in units of efficiency; it decides between placements that are equal.
    wire: float = 0.002
    #: Placements that ``judge`` chooses among.
    finalists: int = 8
    #: Whether routes avoid loaded links; else they are the shortest, columns first.
    aware: bool = True

    def __post_init__(self) -> None:
        words = {"start": ("random", "short")}
        check_settings(self, one_of=words, at_least={"chains": 1, "finalists": 1, "wire": 0}, shares=("aimed",))
        if not 0 < self.cold <= self.hot:
            raise OptionError(f"cold and hot: expected 0 < cold <= hot, found {self.cold} and {self.hot}")


class GivenUnits(NamedTuple):
    """Tiles that a user gives to units, by the number of the unit: where they stay, and where they begin."""

    fixed: dict[int, int]
    first: dict[int, int]


class AnnealingChains:
    """Chains of one run; their places change as it goes on.

    Made for one pipeline; ``run`` once, then ``finalists``. Pinned units never move. The data set of the learned cost
    model takes its placements from here, too.
    """

    def __init__(self, found: Pipeline, config: DataflowConfig, seed: int, given: GivenUnits | None = None) -> None:
        self.pipeline, self.config = found, config
        file = () if config.weights is None else (config.weights,)
        cost = "learned" if file else config.cost
        self.model: CostModel = registry.load("costs", cost)(*file)
        #: Why the cost model of the configuration was replaced; None where it was not.
        self.replaced: str | None = None
        outside = self.model.outside(found) if isinstance(self.model, Ranged) else None
        if outside is not None:
            self.replaced = f"cost model {cost!r} was replaced by {_FALLBACK!r}: {outside}"
            self.model = registry.load("costs", _FALLBACK)()
        self.random = np.random.default_rng(seed)
        self.seed = seed
        arch = found.arch
        by_kind = [[t for t, tile in enumerate(arch.tiles) if tile.kind == kind] for kind in ("cu", "mu", "dram")]
        tile_start, tiles = csr64(by_kind)
        self.sites = Sites(
            tile_start=tile_start,
            tiles=tiles,
            rows=np.array([tile.row for tile in arch.tiles], dtype=np.int64),
            cols=np.array([tile.col for tile in arch.tiles], dtype=np.int64),
        )
        given = given or GivenUnits({}, {})
        self.begun = bool(given.first)
        self.units = self._units(given)
        self.chains = self._random_chains(given)
        self.scores: Floats = np.zeros(config.chains)
        #: The best placement of each chain so far: (score, places).
        self.best: list[tuple[float, Ints]] = []

    @property
    def places(self) -> Ints:
        """The tile of each unit in each chain, as [chain, unit]; a view that changes with the search."""
        return self.chains.places

    def _units(self, given: GivenUnits) -> PipelineUnits:
        """The units and flows as the kernels read them. Flows are drawn by the square root of their rates."""
        found = self.pipeline
        ends: list[list[int]] = [[] for _ in range(found.units)]
        for f in range(found.flows):
            for unit in {int(found.source[f]), int(found.target[f])}:
                ends[unit].append(f)
        flow_start, flows = csr64(ends)
        return PipelineUnits(
            kind=found.unit_kind,
            fixed=np.isin(np.arange(found.units), list(given.fixed)),
            source=found.source,
            target=found.target,
            rate=found.rate,
            cumulative=np.cumsum(np.sqrt(found.rate)) if found.flows else np.ones(1),
            flow_start=flow_start,
            flows=flows,
        )

    def _random_chains(self, given: GivenUnits) -> Chains:
        """Chains with the units that are given on their tiles, and the others anywhere."""
        count = self.config.chains
        places = np.empty((count, self.pipeline.units), dtype=np.int64)
        holder = np.full((count, len(self.pipeline.arch.tiles)), -1, dtype=np.int64)
        taken = set(given.fixed.values())
        held = given.fixed | {u: t for u, t in given.first.items() if u not in given.fixed and t not in taken}
        for chain in range(count):
            for code in range(3):
                units = [u for u in np.flatnonzero(self.pipeline.unit_kind == code) if u not in held]
                group = self.sites.tiles[self.sites.tile_start[code] : self.sites.tile_start[code + 1]]
                free = group[~np.isin(group, list(held.values()))]
                places[chain, units] = self.random.permutation(free)[: len(units)]
            for unit, tile in held.items():
                places[chain, unit] = tile
            holder[chain, places[chain]] = np.arange(self.pipeline.units)
        return Chains(places=places, holder=holder)

    def score(self, places: Ints) -> tuple[Floats, Decisions]:
        """What the cost model says of placements, less the price of wire; and their routes.

        The price of wire is for the mean length of the routes, weighted by rate. A cost model that has an opinion about
        equals (a ``Guide``) is asked for its preference in place of its efficiency. This is the cost of a step: one
        routing and one call of the model for all chains.
        """
        decisions = route(self.pipeline, places, aware=self.config.aware)
        prefer = self.model.preference if isinstance(self.model, Guide) else self.model.efficiency
        scores = prefer(self.pipeline, decisions)
        hops = np.diff(decisions.route_start).reshape(len(places), self.pipeline.flows)
        mean = hops @ self.pipeline.rate / max(1e-12, float(self.pipeline.rate.sum()))
        return np.asarray(scores - self.config.wire * mean, dtype=np.float64), decisions

    def run(self, clock: SearchClock) -> None:
        """Anneal until the budget is used up; without any limit, for a fixed number of moves.

        ``best`` and ``scores`` hold the outcome. A move of one chain counts as one move of the budget.
        """
        from gridloom.targets.dataflow.mappers import place_kernel as kernel

        config, found, chains = self.config, self.pipeline, self.chains
        kernel.seed_generator(self.seed)
        if config.start == "short" and found.flows and not self.begun:
            with clock.watched():
                self.shorten(clock.stop)
        self.scores = self.score(self.places)[0]
        self.best = [(float(self.scores[k]), self.places[k].copy()) for k in range(config.chains)]
        effort = clock.budget.effort or (None if clock.budget.time_limit else _DEFAULT_EFFORT)
        moved = np.zeros((config.chains, 2), dtype=np.int64)
        step = 0
        while not self.units.fixed.all() and not clock.over() and (effort is None or clock.moves < effort):
            done = self._progress(clock, effort)
            heat = config.hot * (config.cold / config.hot) ** done
            kernel.propose(chains, self.units, self.sites, config.aimed, 1 + int(12.0 * done), moved)
            scores = self.score(self.places)[0]
            drawn = self.random.random(config.chains)
            accepted = drawn < np.exp(np.minimum(0.0, (scores - self.scores) / heat))
            kernel.take_back(chains, moved, accepted)
            self.scores = np.where(accepted, scores, self.scores)
            self._remember()
            clock.moves += config.chains
            step += 1
            if step % 64 == 0:
                self._concentrate(done)
                clock.report("annealing", f"score {max(score for score, _ in self.best):.3f}")

    def shorten(self, stop: Uint8s | None = None) -> None:
        """Anneal each chain on rate times distance alone, without the cost model, until ``stop`` is set."""
        from gridloom.targets.dataflow.mappers import place_kernel as kernel

        never = np.zeros(1, dtype=np.uint8)
        kernel.shorten(self.chains, self.units, self.sites, _SWEEPS, never if stop is None else stop)

    def exchange(self, chain: int, unit: int, tile: int) -> None:
        """Put a unit of a chain on a tile; what was there goes to where the unit came from."""
        places, holder = self.chains.places[chain], self.chains.holder[chain]
        old, other = places[unit], holder[tile]
        places[unit], holder[tile], holder[old] = tile, unit, other
        if other >= 0:
            places[other] = old

    def _progress(self, clock: SearchClock, effort: int | None) -> float:
        """The share of the budget that is used up, 0 to 1: by time or by moves, whichever is further."""
        by_time = 0.0 if clock.budget.time_limit is None else clock.seconds / clock.budget.time_limit
        by_moves = 0.0 if effort is None else clock.moves / effort
        return min(1.0, max(by_time, by_moves))

    def _remember(self) -> None:
        """Keep the placement of each chain that now has its best score."""
        for chain in range(self.config.chains):
            if self.scores[chain] > self.best[chain][0]:
                self.best[chain] = (float(self.scores[chain]), self.places[chain].copy())

    def _concentrate(self, done: float) -> None:
        """Late in a run the worst chain goes on from a copy of the best chain's placement."""
        if done < 0.3:
            return
        worst, best = int(np.argmin(self.scores)), int(np.argmax(self.scores))
        places, holder = self.chains
        places[worst], holder[worst] = places[best], holder[best]
        self.scores[worst] = self.scores[best]

    def finalists(self) -> tuple[Ints, Floats]:
        """The best placements that differ, best first, with their scores; at most one per chain."""
        ranked = sorted(self.best, key=lambda item: -item[0])
        chosen: list[tuple[float, Ints]] = []
        for score, places in ranked:
            if len(chosen) < self.config.finalists and not any(np.array_equal(places, other) for _, other in chosen):
                chosen.append((score, places))
        return np.array([places for _, places in chosen]), np.array([score for score, _ in chosen])
