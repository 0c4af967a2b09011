"""Changes by hand: what is moved, led or set is in the mapping, the rest is as it was, and legal moves are right."""

from __future__ import annotations

import pytest
from tests import hand_mappings as hand

import gridloom as gl
from gridloom.errors import OptionError
from gridloom.mapping import Mapping
from gridloom.studio.changes.edits import MappingChange, apply_change

MOVABLE = ["mesh_fifo_2", "torus_rotating", "torus_register_transfer", "vpcma_three_rows"]


def moves(mapping: Mapping) -> list[tuple[str, str]]:
    """Every node on every other tile."""
    tiles = [tile.name for tile in mapping.arch.tiles]
    placed = [i for i in mapping.instances if i.place in mapping.arch.tile_index and not i.copy]
    return [(i.node, tile) for i in placed for tile in tiles[:9] if tile != i.place]


@pytest.mark.parametrize("name", MOVABLE)
def test_a_move_changes_one_instance_and_the_routes_at_it(name: str) -> None:
    mapping = hand.LEGAL[name]()
    for node, tile in moves(mapping)[:12]:
        after = apply_change(mapping, MappingChange(kind="move", node=node, tile=tile))
        assert after.instance_of[node, 0].place == tile
        assert [i for i in after.instances if i.node != node] == [i for i in mapping.instances if i.node != node]
        far = {e for e, edge in enumerate(mapping.dfg.edges) if node not in (edge.source, edge.target)}
        assert {r for r in after.routes if r.edge in far} == {r for r in mapping.routes if r.edge in far}


@pytest.mark.parametrize("name", ["mesh_fifo_2", "mesh_fifo_split"])
def test_a_move_that_the_checker_finds_legal_computes_the_same(name: str) -> None:
    mapping = hand.LEGAL[name]()
    tried = [apply_change(mapping, MappingChange(kind="move", node=node, tile=tile)) for node, tile in moves(mapping)]
    legal = [after for after in tried if not gl.check(after)]
    assert legal, "some node has room to move"
    assert all(gl.simulate(after, iterations=8).ok for after in legal)


def test_moving_back_gives_a_legal_mapping_again() -> None:
    mapping = hand.mesh_fifo_2()
    instance = mapping.instances[0]
    away = apply_change(mapping, MappingChange(kind="move", node=instance.node, tile=mapping.arch.tiles[-1].name))
    back = apply_change(away, MappingChange(kind="move", node=instance.node, tile=instance.place, cycle=instance.cycle))
    assert gl.check(back) == []


def test_an_ii_that_is_set_is_checked_and_not_believed() -> None:
    mapping = hand.torus_rotating()
    assert apply_change(mapping, MappingChange(kind="ii", ii=mapping.ii + 1)).ii == mapping.ii + 1
    assert gl.check(apply_change(mapping, MappingChange(kind="ii", ii=mapping.ii + 1)))


def test_a_route_is_dropped_and_led_again() -> None:
    mapping = hand.mesh_fifo_2()
    edge = mapping.routes[0].edge
    bare = apply_change(mapping, MappingChange(kind="drop", edge=edge))
    assert [violation.kind for violation in gl.check(bare)] == ["missing-route"]
    assert gl.check(apply_change(bare, MappingChange(kind="route", edge=edge))) == []


def test_a_route_goes_through_the_tiles_that_are_named() -> None:
    mapping = hand.mesh_fifo_split()
    for route in mapping.routes:
        passed = {mapping.arch.tiles[mapping.arch.tile[mapping.arch.resource(name)]].name for name, _ in route.hops}
        for tile in sorted(passed):
            led = apply_change(mapping, MappingChange(kind="route", edge=route.edge, via=(tile,)))
            hops = led.route_of[route.edge, route.copy].hops
            assert tile in {led.arch.tiles[led.arch.tile[led.arch.resource(name)]].name for name, _ in hops}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"kind": "move", "node": "nobody", "tile": "pe_0_0"}, "node 'nobody' does not sit on a tile"),
        ({"kind": "move", "node": "b", "tile": "pe_9_9"}, "has no tile 'pe_9_9'"),
        ({"kind": "ii", "ii": 3}, "has no II to set"),
        ({"kind": "route", "edge": 99}, "the graph has no edge 99"),
        ({"kind": "explode"}, "a change is an object with a kind: move, ii, route or drop"),
        ({"kind": "move", "node": 7}, "node: found '7'"),
        ({"kind": "route", "edge": 0, "via": "pe_0_0"}, "via: expected up to 16 names of tiles"),
    ],
)
def test_what_is_no_change_is_refused_in_words(data: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        apply_change(hand.mesh_fifo_2(), MappingChange.of(data))
