"""Look-ups of a mapping, and the text of a failure."""

from __future__ import annotations

from dataclasses import replace

from tests import hand_mappings as hand

from gridloom.mapping import Failure, Instance, Route


def test_instances_and_routes_are_found_by_node_edge_and_copy() -> None:
    mapping = hand.mesh_local()
    again = Instance(node="b", place="pe_0_2", cycle=5, copy=1)
    route = Route(edge=0, hops=(), copy=1)
    twice = replace(mapping, instances=(*mapping.instances, again), routes=(*mapping.routes, route))
    assert twice.instance_of["b", 0].place == "pe_0_1"
    assert twice.instance_of["b", 1] is again
    assert [i.copy for i in twice.copies["b"]] == [0, 1]
    assert twice.route_of[0, 1] is route
    assert twice.route_of[0, 0] is mapping.routes[0]


def test_failure_says_what_is_short_and_what_would_help() -> None:
    failure = Failure(constraint="tiles", demand="12 alu", bound="9", levers=("1 column more", "II 2"))
    assert str(failure) == "tiles: needs 12 alu, has 9; would help: 1 column more, II 2"
    assert str(replace(failure, levers=())) == "tiles: needs 12 alu, has 9"
