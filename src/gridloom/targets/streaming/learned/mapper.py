"""``ppo``: placements on a streaming engine by a policy that learned to place one node after the other.

After the published reinforcement-learning mapper of the Streaming Engine (proximal policy optimisation, a graph
network, masked actions over all tiles and spokes). There a policy is trained for each graph; this one was trained once,
over a distribution of graphs, arrays and IIs, at level strict, and places graphs that it has not seen:

1. a graph network computes a context for each node, once per graph;
2. boards are placed node by node: a small network scores every legal slot (tile and spoke) from what it would mean for
   operands, readers, links and delay registers; slots that leave another node without a tile are closed;
3. the best boards are annealed from a low temperature; IIs are tried upwards, then the next lower one again
   (:mod:`gridloom.targets.streaming.learned.guided`).

Cost: a board of 50 nodes on 64 tiles at II 4 takes about 10 ms. It needs neither torch nor any other extra: the shipped
weights are plain arrays. Limits: it proves nothing but that cycles at the longest path cannot be bettered.
"""

from __future__ import annotations

from dataclasses import dataclass

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.mapping.model import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.search.choice import check_suits
from gridloom.search.placements import GivenPlacements, find_misplaced, given_tiles
from gridloom.search.settings import check_settings, origin


@dataclass(frozen=True, kw_only=True)
class PpoMapperConfig(GivenPlacements):
    """Settings of ``ppo``."""

    #: The II to map at; None: the lowest at which a placement is found.
    ii: int | None = None
    #: Boards per attempt; the first attempt at an II has a quarter of them.
    boards: int = 32
    #: Attempts per II when the budget has no limit.
    batches: int = 6
    #: The highest temperature of play; the boards of an attempt go from greedy to this temperature.
    heat: float = 1.0
    #: The goal: weights of a cycle and of a tile in use.
    cycles_weight: float = 1.0
    tiles_weight: float = 0.0
    #: The goal's weight of the II; None: the lowest II first, whatever its cycles.
    ii_weight: float | None = None
    #: Other weights than the shipped ones: a file that `gridloom train ppo -o` wrote.
    weights: str | None = None

    def __post_init__(self) -> None:
        least = {"ii": 1, "boards": 1, "batches": 1, "tiles_weight": 0, "ii_weight": 0}
        check_settings(self, at_least=least, positive=("heat", "cycles_weight"))


def ppo(dfg: Dfg, arch: Arch, config: PpoMapperConfig, budget: Budget) -> Mapping | Failure:
    """Return the best of many placements that the policy plays and annealing improves, or why there is none.

    Nodes that ``pin`` names stay on their tiles; with ``init`` every second batch of boards begins from the tiles that
    it names. OptionError for another kind of array, and for weights that are none of this policy.
    """
    check_suits("ppo", dfg, arch)
    from gridloom.targets.streaming.learned.guided import GoalWeights, GuidedSearch, GuidedSettings, slot_player
    from gridloom.targets.streaming.learned.slots.policy import load_slots, numbers_of, scope_of_slots
    from gridloom.targets.streaming.mappers.mapping import to_mapping
    from gridloom.targets.streaming.mappers.problem import build_problem
    from gridloom.targets.streaming.mappers.screening import screen

    clock = budget.start()
    weights = load_slots(config.weights)
    pinned, first = given_tiles(dfg, arch, config, shared=True)
    problem = build_problem(dfg, arch).pinned_to(pinned)
    reason = find_misplaced(dfg, arch, pinned | first) or screen(problem, config.ii)
    if reason is not None:
        return reason
    # The goal is scaled so that a cycle counts 1, as it does in the annealer's cost and in training.
    scale = config.cycles_weight
    goal = GoalWeights(
        tiles=config.tiles_weight / scale, ii=None if config.ii_weight is None else config.ii_weight / scale
    )
    settings = GuidedSettings(boards=config.boards, heat=config.heat, batches=config.batches, goal=goal)
    begin = problem.pinned_to(first | pinned) if first else None
    search = GuidedSearch(problem, slot_player(weights, settings, clock.stop), settings, clock, begin=begin)
    search.warm_up()
    clock.prepared()
    best = search.run(config.ii)
    clock.report("done", best.words)
    if best.legal is None:
        return best.failure()
    outside = scope_of_slots(config.weights).outside(numbers_of(problem))
    told = {"remark": outside} if outside else {}
    record = origin("ppo", config, clock, optimal=best.legal.cycles <= search.floor, bound=search.floor, **told)
    return to_mapping(problem, best.legal, record)
