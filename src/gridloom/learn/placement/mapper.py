"""``ppo``: placements on a streaming engine by a policy that learned to place one node after the other.

After the published reinforcement-learning mapper of the Streaming Engine (proximal policy optimisation, a graph network
with global graph attention, masked actions). There a policy is trained for each graph; this one was trained once, over
a distribution of graphs, arrays and IIs, and places graphs that it has not seen:

1. the graph is encoded once; many placements ("boards") are built at once, the first one greedily, the others with
   growing randomness;
2. the best complete board is kept, at level strict the best one whose values find links and delay registers;
3. IIs are tried upwards, and the first with a placement is sampled further; with ``tune`` the policy continues to
   learn on this graph.

Cost: a batch of 256 boards of 50 nodes on 64 tiles takes about a second. Limits: it needs torch (extra ``learn``); it
proves nothing; annealing finds as few cycles or fewer in the same time on most graphs.
"""

from __future__ import annotations

from dataclasses import dataclass

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import MissingExtra
from gridloom.mappers.budget import Budget
from gridloom.mappers.choice import refuse_unsuited
from gridloom.mappers.origin import origin
from gridloom.mappers.settings import check_settings
from gridloom.mapping.model import Failure, Mapping


@dataclass(frozen=True, kw_only=True)
class PpoMapperConfig:
    """Settings of ``ppo``."""

    #: The II to map at; None: the first II, from the least possible upwards, at which a placement is found.
    ii: int | None = None
    #: Boards per batch; the first batch of an II has a quarter of them.
    boards: int = 256
    #: Batches when the budget has no limit.
    batches: int = 8
    #: The highest temperature of sampling; the boards of a batch go from greedy to this temperature.
    heat: float = 1.6
    #: Continue to learn on this graph between batches.
    tune: bool = False
    #: The weight of each tile in use, beside the cycles.
    tiles_weight: float = 0.0
    #: Other weights than the shipped ones: a file that `gridloom train ppo -o` wrote.
    weights: str | None = None

    def __post_init__(self) -> None:
        check_settings(self, at_least={"ii": 1, "boards": 1, "batches": 1, "tiles_weight": 0}, positive=("heat",))


def ppo(dfg: Dfg, arch: Arch, config: PpoMapperConfig, budget: Budget) -> Mapping | Failure:
    """Return the best of many placements that the policy samples on a streaming engine, or why there is none.

    MissingExtra without torch and torch_geometric, OptionError for another kind of array.
    """
    refuse_unsuited("ppo", dfg, arch)
    try:
        from gridloom.learn.placement.sampler import Sampler, load_policy
    except ImportError as error:
        raise MissingExtra(
            f"mapper 'ppo' needs torch and torch_geometric ({error}); install them with: pip install 'gridloom[learn]'"
        ) from None
    from gridloom.mappers.spokes.mapping import to_mapping
    from gridloom.mappers.spokes.problem import build_problem
    from gridloom.mappers.spokes.screening import screen

    clock = budget.start()
    problem = build_problem(dfg, arch)
    reason = screen(problem, config.ii)
    if reason is not None:
        return reason
    sampler = Sampler(problem, config, load_policy(config.weights))
    sampler.warm_up()
    clock.prepared()
    best = sampler.best(clock)
    clock.report("done", best.words)
    if best.legal is None:
        return best.failure()
    floor = sampler.floor
    record = origin("ppo", config, clock, optimal=best.legal.cycles <= floor, bound=floor)
    return to_mapping(problem, best.legal, record)
