"""Dataflow mapper: routes that hold together, the same seed, better placements for better cost models, reasons."""

from __future__ import annotations

import numpy as np
import pytest

from gridloom import registry
from gridloom.archs import build
from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.mapping import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.sim import simulate
from gridloom.targets.dataflow.costs.load import Decisions, Floats, Pipeline, link_rates, pipeline
from gridloom.targets.dataflow.lowering.lower import lower
from gridloom.targets.dataflow.mappers.dataflow import dataflow
from gridloom.targets.dataflow.mappers.route import grid, route
from gridloom.targets.dataflow.mappers.search import AnnealingChains, DataflowConfig
from gridloom.verify import legal


@pytest.fixture(scope="module")
def arch() -> Arch:
    return build("rdu:16x8")


def units(arch: Arch, name: str, **parameters: int) -> Dfg:
    return lower(registry.load("networks", name).build(**parameters), arch).sections[0].dfg


@pytest.fixture(scope="module")
def mlp(arch: Arch) -> Dfg:
    return units(arch, "mlp", width=128, layers=2)


def mapped(dfg: Dfg, arch: Arch, effort: int = 320, seed: int = 0, **settings: object) -> Mapping:
    config = DataflowConfig(**{"cost": "heuristic", **settings})  # type: ignore[arg-type]
    found = dataflow(dfg, arch, config, Budget(effort=effort, seed=seed))
    assert isinstance(found, Mapping)
    return found


@pytest.mark.parametrize("aware", [True, False])
@pytest.mark.parametrize(
    ("name", "parameters"), [("gemm", {"inner": 64, "columns": 64}), ("mha", {"width": 64, "heads": 4, "rows": 32})]
)
def test_mappings_are_legal_and_compute_the_graph(arch: Arch, name: str, parameters: dict[str, int], aware: bool):
    mapping = mapped(units(arch, name, **parameters), arch, aware=aware)
    assert legal(mapping) == []
    assert simulate(mapping, iterations=8).ok


def test_same_seed_and_effort_give_the_same_mapping(arch: Arch, mlp: Dfg):
    first, second, other = (mapped(mlp, arch, seed=seed) for seed in (3, 3, 4))
    assert first.instances == second.instances
    assert first.routes == second.routes
    assert first.instances != other.instances


def test_short_ways_are_better_than_a_random_start(arch: Arch, mlp: Dfg):
    near = mapped(mlp, arch, start="short").provenance["efficiency"]
    far = mapped(mlp, arch, effort=16, start="random").provenance["efficiency"]
    assert near > far + 0.1


def test_search_by_the_simulator_improves_a_random_start(arch: Arch):
    dfg = units(arch, "gemm", inner=64, columns=64)
    before = mapped(dfg, arch, effort=8, cost="simulated", start="random", chains=8).provenance["efficiency"]
    after = mapped(dfg, arch, effort=1200, cost="simulated", start="random", chains=8).provenance["efficiency"]
    assert after > before


def test_nothing_is_judged_that_would_take_longer_than_the_time_that_is_left(
    arch: Arch, mlp: Dfg, monkeypatch: pytest.MonkeyPatch
):
    asked: list[float] = []

    class Tedious:
        name = "tedious"

        def seconds(self, pipeline: Pipeline, decisions: Decisions) -> float:
            asked.append(float(len(decisions)))
            return 100.0

        def efficiency(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
            raise AssertionError("is judged")

    load = registry.load
    monkeypatch.setattr(registry, "load", lambda kind, name: Tedious if name == "tedious" else load(kind, name))
    config = DataflowConfig(cost="heuristic", judge="tedious")
    found = dataflow(mlp, arch, config, Budget(time_limit=0.3))
    assert isinstance(found, Mapping)
    assert asked
    assert legal(found) == []


def test_the_judge_has_the_last_word(arch: Arch, mlp: Dfg, monkeypatch: pytest.MonkeyPatch):
    chosen: list[int] = []

    class Backwards:
        name = "backwards"

        def efficiency(self, pipeline: Pipeline, decisions: Decisions) -> Floats:
            chosen.append(len(decisions))
            return np.arange(len(decisions), dtype=np.float64)

    entry = registry.Entry("builtins:len", "")
    monkeypatch.setitem(registry.groups()["costs"], "backwards", entry)
    monkeypatch.setattr(registry.Entry, "load", lambda self: Backwards if self is entry else _load(self))
    found = mapped(mlp, arch, judge="backwards")
    assert found.provenance["efficiency"] == chosen[0] - 1


_load = registry.Entry.load


def test_pinned_units_stay(arch: Arch, mlp: Dfg):
    node = next(node.id for node in mlp.nodes if node.op == "gemm")
    mapping = mapped(mlp, arch, pin={node: "cu_9_3"})
    assert mapping.instance_of[node, 0].place == "cu_9_3"
    config = DataflowConfig(cost="heuristic", pin={node: "mu_9_2"})
    failure = dataflow(mlp, arch, config, Budget(effort=16))
    assert isinstance(failure, Failure)
    assert failure.constraint == f"node {node!r} on tile 'mu_9_2'"
    assert (failure.demand, failure.bound) == ("op class gemm", "classes buffer")


def test_too_few_units_are_counted(arch: Arch, mlp: Dfg):
    found = dataflow(mlp, build("rdu:2x2"), DataflowConfig(cost="heuristic"), Budget(effort=16))
    assert isinstance(found, Failure)
    assert found.constraint == "compute units"
    assert (int(found.demand), found.bound) == (sum(n.op in ("gemm", "elementwise") for n in mlp.nodes), "2")


def test_routes_join_units_and_only_their_corners(arch: Arch, mlp: Dfg):
    found = pipeline(mlp, arch)
    search = AnnealingChains(found, DataflowConfig(cost="heuristic", chains=4, start="random"), 1)
    decisions = route(found, search.places)
    resources, ends = grid(arch).resources, {r: (a, b) for a, b, r in arch.links}
    for k in range(4):
        start, links = decisions.routes(k)
        for flow in range(found.flows):
            at = decisions.places[k, found.source[flow]]
            for link in links[start[flow] : start[flow + 1]]:
                first, second = ends[int(resources[link])]
                assert first == at
                at = second
            assert at == decisions.places[k, found.target[flow]]


def test_aware_routes_load_the_worst_link_less(arch: Arch):
    found = pipeline(units(arch, "ffn", width=128), arch)
    places = AnnealingChains(found, DataflowConfig(cost="heuristic", chains=16, start="random"), 1).places
    routed = [route(found, places, aware=how) for how in (True, False)]
    aware, ordered = (link_rates(found, decisions, found.rate).max(axis=1).mean() for decisions in routed)
    assert aware < ordered


def test_heuristic_prefers_short_uncongested_routes(arch: Arch, mlp: Dfg):
    found = pipeline(mlp, arch)
    model = registry.load("costs", "heuristic")()
    search = AnnealingChains(found, DataflowConfig(cost="heuristic", chains=16, start="short"), 1)
    far = model.efficiency(found, route(found, search.places)).mean()
    search.run(Budget(effort=16).start())
    near = model.efficiency(found, route(found, search.places)).mean()
    assert near > far


def test_settings_out_of_range_are_refused():
    with pytest.raises(OptionError, match="chains: expected at least 1, found 0"):
        DataflowConfig(chains=0)
    with pytest.raises(OptionError, match="expected 0 < cold <= hot"):
        DataflowConfig(hot=0.1, cold=0.2)
