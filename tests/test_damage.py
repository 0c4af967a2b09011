"""Legal mappings, damaged: structure is refused by `legal` alone, wrong values show in `sim` alone. Every one of them.

Structural damage changes the Mapping, or takes from the array what the mapping uses. Value damage changes the
Configuration and is judged with the checker switched off, on graphs of uninterpreted ops, where nothing masks a value.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.constructive import Constructor, GaveUp
from tests.random_cases import STATIC, build, legal_mappings, loop_graph, static_graph

from gridloom.archs import Kind, Pool
from gridloom.dfg.interpreter import interpret, random_stimulus
from gridloom.mapping import Configuration, Mapping, Operand, Route, configure
from gridloom.sim import run, simulate
from gridloom.verify import legal

STYLES = ("static", "modulo", "engine", "vpcma")
COUNT = {"static": 40, "modulo": 16, "engine": 24, "vpcma": 20}
MANY = {"static": 300, "modulo": 60, "engine": 120, "vpcma": 80}

Damage = Callable[[Mapping, random.Random], "Mapping | None"]


def with_instance(mapping: Mapping, k: int, **fields: object) -> Mapping:
    instances = list(mapping.instances)
    instances[k] = replace(instances[k], **fields)
    return replace(mapping, instances=tuple(instances))


def with_route(mapping: Mapping, k: int, **fields: object) -> Mapping:
    routes = list(mapping.routes)
    routes[k] = replace(routes[k], **fields)
    return replace(mapping, routes=tuple(routes))


def moving(mapping: Mapping) -> list[int]:
    """The instances that have a cycle: not constants and live-ins."""
    return [k for k, i in enumerate(mapping.instances) if not mapping.dfg.op(i.node).timeless]


def tied(mapping: Mapping) -> list[int]:
    """Those of them that a route starts or ends at: one without any is at home on other tiles and cycles as well."""
    edges = mapping.dfg.edges
    ends = {end for r in mapping.routes for end in (edges[r.edge].source, edges[r.edge].target)}
    return [k for k in moving(mapping) if mapping.instances[k].node in ends]


def pick_route(mapping: Mapping, rng: random.Random, wanted: Callable[[Route], bool]) -> int | None:
    chosen = [k for k, route in enumerate(mapping.routes) if wanted(route)]
    return rng.choice(chosen) if chosen else None


def kind_of(mapping: Mapping, hop: tuple[str, int]) -> int:
    return int(mapping.arch.kind[mapping.arch.resource(hop[0])])


# -- structural damage -------------------------------------------------------------------------------------------------


def swapped_tiles(mapping: Mapping, rng: random.Random) -> Mapping | None:
    pairs = [
        (a, b)
        for a in tied(mapping)
        for b in moving(mapping)
        if mapping.instances[a].place != mapping.instances[b].place
    ]
    if not pairs:
        return None
    a, b = rng.choice(pairs)
    first, second = mapping.instances[a].place, mapping.instances[b].place
    return with_instance(with_instance(mapping, a, place=second), b, place=first)


def dropped_hop(mapping: Mapping, rng: random.Random) -> Mapping | None:
    k = pick_route(mapping, rng, lambda route: len(route.hops) >= 2)
    if k is None:
        return None
    hops = list(mapping.routes[k].hops)
    n = rng.randrange(len(hops))
    if 0 < n < len(hops) - 1 and joined(mapping, hops[n - 1], hops[n + 1]):
        return None
    if n == 0 and mapping.dfg.op(mapping.dfg.edges[mapping.routes[k].edge].source).timeless:
        # What leaves a constant register may be named with or without the register.
        return None
    del hops[n]
    return with_route(mapping, k, hops=tuple(hops))


def joined(mapping: Mapping, before: tuple[str, int], after: tuple[str, int]) -> bool:
    """True when the array has a way from one hop straight to the other: leaving out what is between is no damage."""
    arch = mapping.arch
    pairs = zip(arch.arc_source.tolist(), arch.arc_target.tolist(), strict=True)
    return (arch.resource(before[0]), arch.resource(after[0])) in pairs


def shifted_cycle(mapping: Mapping, rng: random.Random) -> Mapping | None:
    if not tied(mapping):
        return None
    k = rng.choice(tied(mapping))
    return with_instance(mapping, k, cycle=mapping.instances[k].cycle + rng.choice((1, 2, 5)))


def shifted_hop(mapping: Mapping, rng: random.Random) -> Mapping | None:
    timed = [k for k, r in enumerate(mapping.routes) if not mapping.dfg.op(mapping.dfg.edges[r.edge].source).timeless]
    if not timed:
        return None
    k = rng.choice(timed)
    hops = list(mapping.routes[k].hops)
    n = rng.randrange(len(hops))
    hops[n] = (hops[n][0], hops[n][1] + 1)
    return with_route(mapping, k, hops=tuple(hops))


def longer_wait(mapping: Mapping, rng: random.Random) -> Mapping | None:
    timed = [k for k, r in enumerate(mapping.routes) if not mapping.dfg.op(mapping.dfg.edges[r.edge].source).timeless]
    if not timed:
        return None
    k = rng.choice(timed)
    return with_route(mapping, k, fifo=mapping.routes[k].fifo + 1)


def lost_route(mapping: Mapping, rng: random.Random) -> Mapping | None:
    if not mapping.routes:
        return None
    k = rng.randrange(len(mapping.routes))
    return replace(mapping, routes=mapping.routes[:k] + mapping.routes[k + 1 :])


def lost_node(mapping: Mapping, rng: random.Random) -> Mapping | None:
    k = rng.randrange(len(mapping.instances))
    return replace(mapping, instances=mapping.instances[:k] + mapping.instances[k + 1 :])


def shared_issue_slot(mapping: Mapping, rng: random.Random) -> Mapping | None:
    if len(moving(mapping)) < 2:
        return None
    a, b = rng.sample(moving(mapping), 2)
    there = mapping.instances[b]
    return with_instance(mapping, a, place=there.place, cycle=there.cycle)


def wrong_operand_input(mapping: Mapping, rng: random.Random) -> Mapping | None:
    k = pick_route(mapping, rng, lambda route: route.hops[-1][0].endswith((".in0", ".in1")))
    if k is None:
        return None
    name, cycle = mapping.routes[k].hops[-1]
    other = name[:-1] + ("1" if name.endswith("0") else "0")
    if other not in mapping.arch.resource_index:
        return None
    return with_route(mapping, k, hops=(*mapping.routes[k].hops[:-1], (other, cycle)))


def leap(mapping: Mapping, rng: random.Random) -> Mapping | None:
    """A link (or switch output) replaced by one that does not follow."""
    wires = (Kind.LINK, Kind.SWITCH)
    k = pick_route(mapping, rng, lambda route: any(kind_of(mapping, hop) in wires for hop in route.hops))
    if k is None:
        return None
    hops = list(mapping.routes[k].hops)
    n = rng.choice([n for n, hop in enumerate(hops) if kind_of(mapping, hop) in wires])
    names = [
        name
        for r, name in enumerate(mapping.arch.resource_names)
        if mapping.arch.kind[r] in wires and name.split(">")[0].split(".")[0] != hops[n][0].split(">")[0].split(".")[0]
    ]
    hops[n] = (rng.choice(names), hops[n][1])
    return with_route(mapping, k, hops=tuple(hops))


def class_taken_away(mapping: Mapping, rng: random.Random) -> Mapping | None:
    """The array loses, on one used tile, the op class that runs there."""
    k = rng.choice(moving(mapping))
    instance = mapping.instances[k]
    tiles = list(mapping.arch.tiles)
    t = mapping.arch.tile_index[instance.place]
    tiles[t] = replace(tiles[t], classes=tiles[t].classes - {mapping.dfg.op_class(instance.node)})
    return replace(mapping, arch=replace(mapping.arch, tiles=tuple(tiles)))


def fifo_taken_away(mapping: Mapping, rng: random.Random) -> Mapping | None:
    """The array's FIFO becomes one shorter than an operand needs."""
    k = pick_route(mapping, rng, lambda route: route.fifo > 0)
    if k is None:
        return None
    target = mapping.dfg.edges[mapping.routes[k].edge].target
    tiles = list(mapping.arch.tiles)
    t = mapping.arch.tile_index[mapping.instance_of[target, 0].place]
    tiles[t] = replace(tiles[t], fifo=mapping.routes[k].fifo - 1)
    return replace(mapping, arch=replace(mapping.arch, tiles=tuple(tiles)))


def overfilled_pool(mapping: Mapping, rng: random.Random) -> Mapping | None:
    """A pool one smaller than what a slot uses of it."""
    slots: dict[int, list[int]] = {}
    for k in moving(mapping):
        instance = mapping.instances[k]
        if mapping.dfg.op_class(instance.node) == "alu":
            slots.setdefault(instance.cycle % mapping.ii, []).append(mapping.arch.tile_index[instance.place])
    if not slots:
        return None
    tiles = rng.choice(list(slots.values()))
    pool = Pool(name="extra", capacity=len(tiles) - 1, tiles=tuple(tiles), classes=frozenset({"alu"}))
    return replace(mapping, arch=replace(mapping.arch, pools=(*mapping.arch.pools, pool)))


def broken_initial_cycle(mapping: Mapping, rng: random.Random) -> Mapping | None:
    """An instance before cycle 0."""
    return with_instance(mapping, rng.choice(moving(mapping)), cycle=-1)


def second_copy_unrouted(mapping: Mapping, rng: random.Random) -> Mapping | None:
    """A second copy of a node with operands, without routes into it."""
    edges = mapping.dfg.edges
    routed = {edges[r.edge].target for r in mapping.routes}
    chosen = [i for i in mapping.instances if i.node in routed]
    if not chosen:
        return None
    return replace(mapping, instances=(*mapping.instances, replace(rng.choice(chosen), copy=1)))


STRUCTURAL: dict[str, Damage] = {
    f.__name__: f
    for f in (
        swapped_tiles, dropped_hop, shifted_cycle, shifted_hop, longer_wait, lost_route, lost_node, shared_issue_slot,
        wrong_operand_input, leap, class_taken_away, fifo_taken_away, overfilled_pool, broken_initial_cycle,
        second_copy_unrouted,
    )
}  # fmt: skip


@pytest.mark.parametrize("style", STYLES)
def test_constructed_mappings_are_legal_and_compute_the_graph(style: str) -> None:
    for mapping in legal_mappings(style, COUNT[style]):
        assert legal(mapping) == []
        assert simulate(mapping, iterations=64).ok


def check_refused(damage: Damage, style: str, count: int) -> int:
    applied = 0
    for k, mapping in enumerate(legal_mappings(style, count)):
        damaged = damage(mapping, random.Random(k))
        if damaged is not None:
            applied += 1
            assert legal(damaged), f"{damage.__name__} of mapping {k} on {mapping.arch.name} went unnoticed"
    return applied


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", STRUCTURAL)
def test_structural_damage_is_refused_by_the_checker(name: str, style: str) -> None:
    applied = check_refused(STRUCTURAL[name], style, COUNT[style])
    # Torus and vpcma have no FIFO to take away.
    assert (applied > 0) == ((name, style) not in {("fifo_taken_away", "modulo"), ("fifo_taken_away", "vpcma")})


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
def test_structural_damage_is_refused_over_hundreds_of_graphs(style: str) -> None:
    assert sum(check_refused(damage, style, MANY[style]) for damage in STRUCTURAL.values()) > 5 * MANY[style]


# -- resources that hold too much -------------------------------------------------------------------------------------


def overfull(kind: Kind, mapping: Mapping) -> bool:
    """True when some resource of a kind has two signals in one slot, counted without the checker."""
    seen: dict[tuple[int, int], set[tuple[str, int]]] = {}
    for route in mapping.routes:
        source = mapping.dfg.edges[route.edge].source
        timeless = mapping.dfg.op(source).timeless
        for name, cycle in route.hops:
            r = mapping.arch.resource(name)
            if mapping.arch.kind[r] == kind:
                seen.setdefault((r, cycle % mapping.ii), set()).add((source, -1 if timeless else cycle))
    return any(len(signals) > 1 for signals in seen.values())


def careless_mapping(kind: Kind, seed: int) -> Mapping | None:
    """A mapping made as if resources of a kind had no limit."""
    rng = random.Random(seed)
    if kind == Kind.REG:
        dfg, arch, ii = loop_graph(rng), build("torus:2x2,regs=1,rotating=0"), 4
    else:
        dfg, arch, ii = static_graph(rng), build(STATIC[seed % 2]), 1
    careless = replace(arch, capacity=np.where(arch.kind == kind, 0, arch.capacity).astype(np.int32))
    try:
        mapping = Constructor(dfg, careless, ii, rng, {}).run()
    except GaveUp:
        return None
    return replace(mapping, arch=arch) if overfull(kind, mapping) else None


@pytest.mark.parametrize("kind", [Kind.LINK, Kind.REG, Kind.IN])
def test_overfilled_resource_is_refused_as_a_conflict(kind: Kind) -> None:
    found = 0
    for seed in range(400):
        mapping = careless_mapping(kind, seed) if kind != Kind.IN else shared_input(seed)
        if mapping is not None:
            found += 1
            assert "conflict" in {violation.kind for violation in legal(mapping)}
        if found == 12:
            break
    assert found >= 3


def shared_input(seed: int) -> Mapping | None:
    """Both operands of a node led into one input."""
    mappings = legal_mappings("static", COUNT["static"])
    mapping = mappings[seed % len(mappings)]
    for k, route in enumerate(mapping.routes):
        edge = mapping.dfg.edges[route.edge]
        rivals = [r for r in mapping.routes if mapping.dfg.edges[r.edge].target == edge.target and r is not route]
        partner = rivals[0] if rivals else None
        if partner is not None and mapping.dfg.edges[partner.edge].source != edge.source:
            return with_route(mapping, k, hops=(*route.hops[:-1], partner.hops[-1]))
    return None


# -- value damage ----------------------------------------------------------------------------------------------------

ValueDamage = Callable[[Configuration, random.Random], "Configuration | None"]


def with_operand(configuration: Configuration, s: int, o: int, **fields: object) -> Configuration:
    slots = list(configuration.slots)
    operands = list(slots[s].operands)
    operands[o] = replace(operands[o], **fields)
    slots[s] = replace(slots[s], operands=tuple(operands))
    return replace(configuration, slots=tuple(slots))


def pick_operand(
    configuration: Configuration, rng: random.Random, wanted: Callable[[Operand], bool]
) -> tuple[int, int] | None:
    chosen = [
        (s, o)
        for s, slot in enumerate(configuration.slots)
        for o, operand in enumerate(slot.operands)
        if slot.kind == "op" and wanted(operand)
    ]
    return rng.choice(chosen) if chosen else None


def wrong_operand(configuration: Configuration, rng: random.Random) -> Configuration | None:
    """Two operands of a node that come from different nodes change places."""
    chosen = [
        s
        for s, slot in enumerate(configuration.slots)
        if len(slot.operands) >= 2 and slot.operands[0].node != slot.operands[1].node
    ]
    if not chosen:
        return None
    slots = list(configuration.slots)
    s = rng.choice(chosen)
    first, second, *rest = slots[s].operands
    slots[s] = replace(slots[s], operands=(second, first, *rest))
    return replace(configuration, slots=tuple(slots))


def wrong_initial_value(configuration: Configuration, rng: random.Random) -> Configuration | None:
    place = pick_operand(configuration, rng, lambda operand: len(operand.initial) > 0)
    if place is None:
        return None
    initial = list(configuration.slots[place[0]].operands[place[1]].initial)
    n = rng.randrange(len(initial))
    initial[n] += 1
    return with_operand(configuration, *place, initial=tuple(initial))


def wrong_start_stage(configuration: Configuration, rng: random.Random) -> Configuration | None:
    slots = list(configuration.slots)
    # An op that exchanges values with no other op may start when it likes.
    timeless = [op.timeless for op in configuration.dfg.ops]
    pairs = {
        (o.node, slot.node)
        for slot in slots
        for o in slot.operands
        if slot.kind == "op" and o.kind == "routed" and o.node != slot.node and not timeless[o.node]
    }
    bound = {node for pair in pairs for node in pair}
    ops = [s for s, slot in enumerate(slots) if slot.kind == "op" and slot.node in bound]
    if not ops:
        return None
    s = rng.choice(ops)
    slots[s] = replace(slots[s], start=slots[s].start + 1)
    return replace(configuration, slots=tuple(slots))


def wrong_fifo(configuration: Configuration, rng: random.Random) -> Configuration | None:
    if all(tile.fifo == 0 for tile in configuration.arch.tiles):
        return None
    ops = configuration.dfg.ops
    place = pick_operand(configuration, rng, lambda o: o.kind == "routed" and not ops[o.node].timeless)
    if place is None:
        return None
    old = configuration.slots[place[0]].operands[place[1]].fifo
    return with_operand(configuration, *place, fifo=old + 1)


def wrong_register(configuration: Configuration, rng: random.Random) -> Configuration | None:
    """An operand input selects another register of the same file."""
    arch = configuration.arch
    reads = [
        (int(r), int(s))
        for r, s in np.argwhere(configuration.driver >= 0)
        if configuration.driver[r, s] < len(arch.kind) and arch.kind[configuration.driver[r, s]] == Kind.REG
    ]
    if not reads:
        return None
    r, s = rng.choice(reads)
    register = int(configuration.driver[r, s])
    file = next(file for file in arch.register_files if register in file.registers)
    others = [k for k in file.registers if k != register]
    if not others:
        return None
    driver = configuration.driver.copy()
    driver[r, s] = rng.choice(others)
    return replace(configuration, driver=driver)


def wrong_constant(configuration: Configuration, rng: random.Random) -> Configuration | None:
    place = pick_operand(configuration, rng, lambda operand: operand.kind == "const")
    constants = [k for k, node in enumerate(configuration.dfg.nodes) if node.op == "const"]
    if place is None or len(constants) < 2:
        return None
    old = configuration.slots[place[0]].operands[place[1]].node
    return with_operand(configuration, *place, node=rng.choice([k for k in constants if k != old]))


def wrong_select(configuration: Configuration, rng: random.Random) -> Configuration | None:
    """A multiplexer on somebody's way selects nothing."""
    arch = configuration.arch
    wires = [
        (int(r), int(s))
        for r, s in np.argwhere(configuration.driver >= 0)
        if r < len(arch.kind) and arch.kind[r] in (Kind.LINK, Kind.IN, Kind.SWITCH, Kind.REG)
    ]
    if not wires:
        return None
    r, s = rng.choice(wires)
    driver = configuration.driver.copy()
    driver[r, s] = -1
    return replace(configuration, driver=driver)


VALUE: dict[str, ValueDamage] = {
    f.__name__: f
    for f in (
        wrong_operand, wrong_initial_value, wrong_start_stage, wrong_fifo, wrong_register, wrong_constant, wrong_select,
    )
}  # fmt: skip


def shows(configuration: Configuration, seed: int) -> bool:
    """True when some result of the graph is wrong in some iteration, for some trip count.

    Results are what no other node reads, and what is marked as live-out.
    """
    dfg = configuration.dfg
    read = {edge.source for edge in dfg.edges if edge.source != edge.target}
    results = [k for k, node in enumerate(dfg.nodes) if node.id not in read or node.liveout]
    for n in (64, 1, 2, 3, 5):
        stimulus = random_stimulus(dfg, n, seed=seed)
        expected = interpret(dfg, stimulus).values
        found = run(configuration, stimulus).values
        if not np.array_equal(expected[:, results], found[:, results]):
            return True
    return False


def check_shows(damage: ValueDamage, style: str, count: int) -> int:
    applied = 0
    for k, mapping in enumerate(legal_mappings(style, count, True)):
        configuration = configure(mapping)
        damaged = damage(configuration, random.Random(k))
        if damaged is not None:
            applied += 1
            assert not shows(configuration, k)
            assert shows(damaged, k), f"{damage.__name__} of mapping {k} on {mapping.arch.name} went unnoticed"
    return applied


@pytest.mark.parametrize("style", ("static", "modulo", "engine"))
@pytest.mark.parametrize("name", VALUE)
def test_value_damage_shows_in_simulation(name: str, style: str) -> None:
    applied = check_shows(VALUE[name], style, COUNT[style])
    # Only the torus has registers, and it has no FIFOs; the engine's graphs have no recurrence.
    nowhere = {
        ("wrong_register", "static"), ("wrong_register", "engine"), ("wrong_fifo", "modulo"),
        ("wrong_initial_value", "engine"),
    }  # fmt: skip
    assert (applied > 0) == ((name, style) not in nowhere)


@pytest.mark.slow
@pytest.mark.parametrize("style", ("static", "modulo", "engine"))
def test_value_damage_shows_over_hundreds_of_graphs(style: str) -> None:
    assert sum(check_shows(damage, style, MANY[style]) for damage in VALUE.values()) > 2 * MANY[style]
