"""Saved mappings that are changed at random, and what has to become of them.

A change is made in the JSON data of a legal mapping: a number, a name, a row of a list or a whole part of it is
replaced, most often by something that occurs elsewhere in the same file, so that most changed files are still well
formed. The rule (:func:`judge`): the reader, the checker or the simulator refuses the file in words of ours, or the
simulated array computes what the graph in the file computes, on several stimuli.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from tests import hand_mappings
from tests.random_cases import candidates

from gridloom.errors import GridloomError
from gridloom.mapping import Mapping, json_format
from gridloom.sim import simulate
from gridloom.verify import legal

Data = dict[str, Any]
Change = Callable[[Data, random.Random], None]

#: Styles of arrays that random mappings are made for.
STYLES = ("static", "modulo", "engine", "vpcma")

#: Parts of a file in which any value may be changed, with how often one is chosen.
PARTS = {"instances": 4, "routes": 5, "settings": 2, "dfg": 4, "ii": 1, "arch": 1}


@cache
def bases(count: int) -> tuple[str, ...]:
    """The texts of legal mappings of all styles: so many random ones of each style, and those written by hand."""
    made = []
    for style in STYLES:
        found = candidates(style)
        made += [next(found) for _ in range(count)]
    made += [make() for make in hand_mappings.LEGAL.values()]
    return tuple(json_format.dumps(mapping) for mapping in made)


# -- changes ----------------------------------------------------------------------------------------------------------


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values in JSON data, containers included."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in pairs:
        yield (*path, key)
        yield from places(value, (*path, key))


def at(data: Any, path: tuple[Any, ...]) -> Any:
    """The value at a path."""
    for key in path:
        data = data[key]
    return data


def put(data: Any, path: tuple[Any, ...], value: Any) -> None:
    """Write the value at a path."""
    at(data, path[:-1])[path[-1]] = value


def any_place(data: Data, rng: random.Random) -> tuple[Any, ...]:
    """A random path, in a part drawn by its weight."""
    parts = [name for name in PARTS if data.get(name)]
    part = rng.choices(parts, [PARTS[name] for name in parts])[0]
    return rng.choice([(part,), *places(data[part], (part,))] if part != "ii" else [("ii",)])


def another(data: Data, path: tuple[Any, ...], rng: random.Random) -> Any:
    """A value of the same key and type from elsewhere in the file; else the value itself."""
    value = at(data, path)
    keys = {path[-1]} if isinstance(path[-1], str) else {path[-2] if len(path) > 1 else path[-1], 0, 1}
    found = [p for p in places(data) if p != path and p[-1] in keys and type(at(data, p)) is type(value)]
    return copy.deepcopy(at(data, rng.choice(found))) if found else value


def changed_number(data: Data, rng: random.Random) -> None:
    """A number becomes another: near it, of the same size, or far off."""
    numbers = [p for p in places(data) if p[0] in PARTS and type(at(data, p)) is int]
    path = rng.choice(numbers)
    value = at(data, path)
    put(data, path, rng.choice((value + 1, value - 1, value + 2, 2 * value, -value, 0, 1, value + data["ii"], 99_999)))


def changed_name(data: Data, rng: random.Random) -> None:
    """A name becomes another name of the file."""
    names = [p for p in places(data) if p[0] in PARTS and p[0] != "arch" and type(at(data, p)) is str]
    path = rng.choice(names)
    put(data, path, another(data, path, rng))


def changed_value(data: Data, rng: random.Random) -> None:
    """Any value becomes one from elsewhere in the file, or one of another type."""
    path = any_place(data, rng)
    odd: tuple[Any, ...] = (None, True, -1, 2.5, "", "x", [], {}, [[]], 10**30)
    put(data, path, rng.choice(odd) if rng.random() < 0.2 else another(data, path, rng))


def changed_rows(data: Data, rng: random.Random) -> None:
    """A row of a list is dropped, written twice, exchanged with another, or copied from elsewhere."""
    lists = [p for p in places(data) if p[0] in PARTS and isinstance(at(data, p), list) and at(data, p)]
    rows = at(data, rng.choice(lists))
    k, other = rng.randrange(len(rows)), rng.randrange(len(rows))
    kind = rng.randrange(4)
    if kind == 0:
        del rows[k]
    elif kind == 1:
        rows.insert(other, copy.deepcopy(rows[k]))
    elif kind == 2:
        rows[k], rows[other] = rows[other], rows[k]
    else:
        rows[k] = copy.deepcopy(rows[other])


def moved_node(data: Data, rng: random.Random) -> None:
    """A node moves in time or to the tile of another, and the ends of its routes may follow."""
    row = rng.choice(data["instances"])
    if rng.random() < 0.5:
        row["place"] = rng.choice(data["instances"])["place"]
        return
    shift = rng.choice((1, -1, data["ii"], -data["ii"], 2 * data["ii"]))
    row["cycle"] += shift
    edges = data["dfg"]["edges"]
    for route in data["routes"]:
        ends = edges[route["edge"]]
        if rng.random() < 0.8 and row["node"] in (ends.get("source"), ends.get("from")):
            route["hops"] = [[name, cycle + shift] for name, cycle in route["hops"]]


def moved_route(data: Data, rng: random.Random) -> None:
    """A route goes later, waits longer, loses a hop, or ends in another operand or register."""
    if not data["routes"]:
        return
    route = rng.choice(data["routes"])
    kind = rng.randrange(6)
    if kind == 0:
        shift = rng.choice((1, -1, data["ii"]))
        route["hops"] = [[name, cycle + shift] for name, cycle in route["hops"]]
    elif kind == 1:
        route["fifo"] = route.get("fifo", 0) + rng.choice((1, -1, 2))
    elif kind == 2 and route["hops"]:
        del route["hops"][rng.randrange(len(route["hops"]))]
    elif kind == 3 and route["hops"]:
        hop = rng.choice(route["hops"])
        head, _, tail = hop[0].rpartition(".")
        hop[0] = f"{head}.{tail[:-1]}{rng.randrange(4)}" if tail else hop[0]
    elif kind == 4:
        route["hops"] = copy.deepcopy(rng.choice(data["routes"])["hops"])
    elif route["hops"]:
        k = rng.randrange(len(route["hops"]))
        route["hops"].insert(k, copy.deepcopy(rng.choice(rng.choice(data["routes"])["hops"] or route["hops"])))


def changed_settings(data: Data, rng: random.Random) -> None:
    """A setting of the mapping (rotating registers, pipeline bits) or its II changes."""
    settings = data["settings"]
    if not settings or rng.random() < 0.3:
        data["ii"] = max(1, data["ii"] + rng.choice((-1, 1, 2)))
        return
    name = rng.choice(sorted(settings))
    value = settings[name]
    if isinstance(value, dict) and value:
        value[rng.choice(sorted(value))] = rng.randint(0, 8)
    elif isinstance(value, list) and value:
        value[rng.randrange(len(value))] = rng.randint(0, 2)
    else:
        settings[name] = rng.randint(0, 3)


CHANGES: tuple[Change, ...] = (
    changed_number, changed_name, changed_value, changed_rows, moved_node, moved_route, changed_settings, moved_route,
)  # fmt: skip


def mutated(text: str, rng: random.Random) -> Data:
    """The data of a mapping after one to three changes."""
    data: Data = json.loads(text)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        try:
            rng.choice(CHANGES)(data, rng)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            # An earlier change may have taken away what this one looks for.
            continue
    return data


# -- the rule ---------------------------------------------------------------------------------------------------------


def judge(data: Data, seeds: tuple[int, ...] = (0, 1)) -> str:
    """``refused`` by reader, ``checker`` or simulator (``graph``: its graph has no run), or ``accepted``.

    AssertionError where the checker accepts what the simulator shows to be wrong; any exception that is not ours passes
    through.
    """
    try:
        mapping = json_format.from_dict(data, "mutant")
    except GridloomError as error:
        assert "\n" not in str(error)
        return "refused"
    if violations := legal(mapping):
        assert all(str(violation) for violation in violations)
        return "checker"
    return confirmed(mapping, seeds)


def _written_and_read(mapping: Mapping) -> bool:
    """True when an array of the graph is both loaded and stored."""
    arrays = {
        kind: {node.array for node in mapping.dfg.nodes if node.op.startswith(kind)} for kind in ("load", "store")
    }
    return bool(arrays["load"] & arrays["store"])


def confirmed(mapping: Mapping, seeds: tuple[int, ...]) -> str:
    """``accepted`` where every stimulus gives the graph's values; AssertionError where one does not."""
    for seed in seeds:
        try:
            verdict = simulate(mapping, iterations=17 + 8 * seed, seed=seed)
        except GridloomError as error:
            assert "\n" not in str(error)
            return "graph"
        if not verdict.ok and _written_and_read(mapping):
            # A changed graph may lack the order of its accesses: only values tell, and the simulator refuses them.
            return "simulator"
        if not verdict.ok:
            raise AssertionError(f"the checker accepts it, the simulator finds: {verdict.error or verdict.mismatches}")
    return "accepted"
