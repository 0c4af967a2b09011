"""Whatever a mapping says, ``legal`` answers, and it answers no when something was changed that matters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.verify.legal_mappings import LEGAL, reconvergent

from gridloom.mapping import Instance, Mapping, Route
from gridloom.verify import KINDS, Violation, legal, stats

BASES = [*(make() for make in LEGAL.values()), reconvergent()]

#: graph -> the arcs of its array, by name.
ARCS = {
    mapping.dfg.name: {
        (mapping.arch.resource_names[a], mapping.arch.resource_names[b])
        for a, b in zip(mapping.arch.arc_source.tolist(), mapping.arch.arc_target.tolist(), strict=True)
    }
    for mapping in BASES
}

cycles = st.one_of(st.integers(-5, 12), st.sampled_from([10**6, -(10**6), 10**30]))
small = st.integers(-2, 4)


@st.composite
def garbage(draw: st.DrawFn) -> Mapping:
    """A mapping of well-typed values, some of which name something that exists."""
    base = draw(st.sampled_from(BASES))
    tiles = [tile.name for tile in base.arch.tiles]
    resources = list(base.arch.resource_names)
    names = st.one_of(
        st.sampled_from(resources), st.sampled_from(tiles), st.sampled_from(["", "nowhere", "mem", "a>b"])
    )
    nodes = st.one_of(st.sampled_from([node.id for node in base.dfg.nodes]), st.just("ghost"))
    instances = st.builds(Instance, node=nodes, place=names, cycle=cycles, copy=small)
    routes = st.builds(
        Route,
        edge=st.integers(-2, len(base.dfg.edges) + 1),
        hops=st.lists(st.tuples(names, cycles), max_size=5).map(tuple),
        fifo=cycles,
        copy=small,
        source_copy=small,
    )
    kept_instances = tuple(i for i in base.instances if draw(st.booleans()))
    kept_routes = tuple(r for r in base.routes if draw(st.booleans()))
    settings = st.one_of(
        st.just(base.settings),
        st.dictionaries(
            st.sampled_from(["pipeline", "rotating", "other"]),
            st.one_of(small, st.none(), st.lists(small, max_size=4), st.dictionaries(names, small, max_size=2)),
            max_size=2,
        ),
    )
    return replace(
        base,
        ii=draw(st.one_of(st.integers(-1, 5), st.just(10**9))),
        instances=(*kept_instances, *draw(st.lists(instances, max_size=4))),
        routes=(*kept_routes, *draw(st.lists(routes, max_size=4))),
        settings=draw(settings),
    )


@given(garbage())
def test_garbage_is_answered_in_the_catalogue(mapping: Mapping):
    for violation in legal(mapping):
        assert isinstance(violation, Violation)
        assert violation.kind in KINDS
        assert violation.where
        assert violation.demanded
        assert violation.allowed


@given(garbage())
def test_metrics_of_garbage_are_answered(mapping: Mapping):
    assert stats(mapping).to_dict().keys() == stats(BASES[0]).to_dict().keys()


@given(garbage())
def test_same_mapping_gets_the_same_answer(mapping: Mapping):
    assert legal(mapping) == legal(mapping)


timed = [make for name, make in LEGAL.items() if name != "rdu"]


@pytest.mark.parametrize("make", timed, ids=lambda make: make.__name__)
@given(data=st.data())
def test_later_issue_of_one_op_is_refused(make: Callable[[], Mapping], data: st.DataObject):
    mapping = make()
    moving = [k for k, i in enumerate(mapping.instances) if not mapping.dfg.op(i.node).timeless]
    k = data.draw(st.sampled_from(moving))
    later = data.draw(st.integers(1, 50))
    changed = replace(mapping.instances[k], cycle=mapping.instances[k].cycle + later)
    assert legal(replace(mapping, instances=(*mapping.instances[:k], changed, *mapping.instances[k + 1 :])))


def fits(mapping: Mapping, route: Route, h: int, name: str) -> bool:
    """True when arcs lead from the hop before to the resource and on to the hop after: it may be as good a way."""
    around = [hop for hop, _ in route.hops]
    around[h] = name
    arcs = ARCS[mapping.dfg.name]
    return all(step in arcs for step in pairwise(around[max(0, h - 1) : h + 2])) and h < len(around) - 1


@pytest.mark.parametrize("make", LEGAL.values(), ids=lambda make: make.__name__)
@given(data=st.data())
def test_hop_that_is_somewhere_else_is_refused(make: Callable[[], Mapping], data: st.DataObject):
    mapping = make()
    k = data.draw(st.sampled_from([k for k, route in enumerate(mapping.routes) if route.hops]))
    route = mapping.routes[k]
    h = data.draw(st.integers(0, len(route.hops) - 1))
    others = [name for name in mapping.arch.resource_names if name != route.hops[h][0]]
    elsewhere = data.draw(st.sampled_from([name for name in others if not fits(mapping, route, h, name)]))
    hops = (*route.hops[:h], (elsewhere, route.hops[h][1]), *route.hops[h + 1 :])
    assert legal(replace(mapping, routes=(*mapping.routes[:k], replace(route, hops=hops), *mapping.routes[k + 1 :])))


@pytest.mark.parametrize("make", LEGAL.values(), ids=lambda make: make.__name__)
@given(data=st.data())
def test_lost_route_is_refused(make: Callable[[], Mapping], data: st.DataObject):
    mapping = make()
    k = data.draw(st.integers(0, len(mapping.routes) - 1))
    kinds = [v.kind for v in legal(replace(mapping, routes=(*mapping.routes[:k], *mapping.routes[k + 1 :])))]
    assert "missing-route" in kinds
