"""Saved mappings: there and back, the schema, exact texts, older versions."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import hand_mappings as hand
from tests.dfg.graphs import NAMES
from tests.json_schema import problems

from gridloom.errors import MappingError
from gridloom.mapping import Instance, Mapping, Route, json_format
from gridloom.mapping.json_format import LARGEST, dumps, from_dict, loads, schema, to_dict

SOUND = to_dict(hand.mesh_fifo_2())
NUMBERS = st.integers(-LARGEST, LARGEST)
INSTANCES = st.builds(Instance, node=NAMES, place=NAMES, cycle=NUMBERS, copy=NUMBERS)
ROUTES = st.builds(
    Route, edge=NUMBERS, hops=st.lists(st.tuples(NAMES, NUMBERS), max_size=3).map(tuple), fifo=NUMBERS, copy=NUMBERS,
    source_copy=NUMBERS,
)  # fmt: skip
PLAIN = st.dictionaries(NAMES, st.none() | st.booleans() | NUMBERS | NAMES | st.lists(NUMBERS, max_size=3), max_size=3)


def same(a: Mapping, b: Mapping) -> bool:
    fields = ("dfg", "ii", "instances", "routes", "settings", "provenance")
    return all(getattr(a, f) == getattr(b, f) for f in fields) and a.arch.fingerprint == b.arch.fingerprint


@given(st.lists(INSTANCES, max_size=3).map(tuple), st.lists(ROUTES, max_size=3).map(tuple), PLAIN, PLAIN, NUMBERS)
def test_mapping_survives_json_whatever_it_claims(
    instances: tuple[Instance, ...], routes: tuple[Route, ...], settings: dict[str, Any], notes: dict[str, Any], ii: int
) -> None:
    sound = hand.mesh_local()
    mapping = Mapping(
        dfg=sound.dfg, arch=sound.arch, ii=ii, instances=instances, routes=routes, settings=settings, provenance=notes
    )
    assert same(loads(dumps(mapping)), mapping)
    assert problems(json.loads(dumps(mapping)), schema()) == []


@pytest.mark.parametrize("name", hand.LEGAL)
def test_text_and_data_say_the_same(name: str) -> None:
    mapping = hand.LEGAL[name]()
    assert json.loads(dumps(mapping)) == json.loads(json.dumps(to_dict(mapping)))
    assert problems(json.loads(dumps(mapping)), schema()) == []


def test_each_instance_and_each_route_has_a_line() -> None:
    mapping = hand.mesh_local()
    lines = dumps(mapping).splitlines()
    assert '    {"node": "d", "place": "pe_1_1", "cycle": 2},' in lines
    assert '    {"edge": 0, "hops": [["pe_0_0.out", 1], ["pe_0_0>pe_0_1", 1], ["pe_0_1.in0", 1]]},' in lines


def test_array_is_saved_as_its_description() -> None:
    assert SOUND["arch"] == {
        "spec": {"family": "mesh", "rows": 2, "cols": 3},
        "fingerprint": hand.mesh_fifo_2().arch.fingerprint,
    }


BAD_TEXTS = {
    "{": "m.json: is not JSON: Expecting property name enclosed in double quotes at line 1, column 2",
    "[" * 100_000: "m.json: is nested too deeply to be a mapping",
    "9" * 5000: "m.json: holds a number of more digits than any value has",
    "7": "m.json: expected a JSON object, found int",
    "{}": 'm.json: expected "format": "gridloom-mapping", found None',
    '{"format": "gridloom-dfg"}': 'm.json: expected "format": "gridloom-mapping", found \'gridloom-dfg\'',
}


@pytest.mark.parametrize("text", BAD_TEXTS, ids=range(len(BAD_TEXTS)))
def test_text_that_is_no_mapping_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(MappingError) as error:
        loads(text, "m.json")
    assert str(error.value) == BAD_TEXTS[text]


def changed(path: str, value: Any) -> dict[str, Any]:
    """The sound file with one field changed; ``...`` takes it away."""
    data = deepcopy(SOUND)
    *keys, last = path.split(".")
    place: Any = data
    for key in keys:
        place = place[int(key)] if key.isdecimal() else place[key]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return data


BAD_FIELDS: list[tuple[str, Any, str]] = [
    ("version", 2, "version 2 is not known; this gridloom reads 1"),
    ("version", [1], "version [1] is not known; this gridloom reads 1"),
    ("version", ..., "version None is not known; this gridloom reads 1"),
    ("dfg", ..., "dfg: expected a JSON object, found NoneType"),
    ("dfg.nodes.0.op", "inputs", "dfg: graph 'diamond': node 'a': op 'inputs' is not in domain 'i32'; it has: const, "),
    ("arch", [], "arch.spec: expected the description of an array, found []"),
    ("arch.spec", "mesh:2x3", "arch.spec: expected the description of an array, found {'spec': 'mesh:2x3', "),
    ("arch.spec.rows", 0, "arch: rows: expected 1 to 128, found 0"),
    ("arch.spec.family", "mash", "arch: no arch is called 'mash'; did you mean mesh?"),
    ("ii", "1", "ii: expected a whole number, found '1'"),
    ("ii", True, "ii: expected a whole number, found True"),
    ("ii", 100_001, "ii: expected a number up to 100000, found 100001"),
    ("routes.0.hops", [["x", -(10**30)]], "routes.0: hops: expected a list of [resource, cycle], found [['x', -1000"),
    ("ii", ..., "ii: expected a whole number, found None"),
    ("settings", [], "settings: expected an object, found []"),
    ("provenance", 3, "provenance: expected an object, found 3"),
    ("instances", {}, "instances: expected a list of objects, found dict"),
    ("instances", [1], "instances: expected a list of objects, found list"),
    ("instances.1.node", 1, "instances.1: node: expected a name, found 1"),
    ("instances.1.place", ..., "instances.1: place: expected a name, found None"),
    ("instances.1.cycle", 0.5, "instances.1: cycle: expected a whole number, found 0.5"),
    ("instances.1.tile", "pe", "instances.1: tile: not a known key; known: node, place, cycle, copy"),
    ("routes", None, "routes: expected a list of objects, found NoneType"),
    ("routes.2.edge", ..., "routes.2: edge: expected a whole number, found None"),
    ("routes.2.hops", [["pe_0_0.out"]], "routes.2: hops: expected a list of [resource, cycle], found [['pe_0_0.out']]"),
    ("routes.2.hops", [["x", True]], "routes.2: hops: expected a list of [resource, cycle], found [['x', True]]"),
    ("routes.2.hops", "x", "routes.2: hops: expected a list of [resource, cycle], found 'x'"),
    ("routes.2.wait", 1, "routes.2: wait: not a known key; known: edge, hops, fifo, copy, source_copy"),
]


@pytest.mark.parametrize(("path", "value", "message"), BAD_FIELDS)
def test_wrong_field_is_named_with_what_was_found(path: str, value: Any, message: str) -> None:
    with pytest.raises(MappingError) as error:
        from_dict(changed(path, value), "m.json")
    assert str(error.value).startswith(f"m.json: {message}")


@pytest.mark.parametrize(
    ("path", "value"),
    # Which ops and families there are is no matter of the schema.
    [(path, value) for path, value, _ in BAD_FIELDS if not path.startswith(("dfg.nodes", "arch.spec."))],
)
def test_schema_refuses_it_too(path: str, value: Any) -> None:
    assert problems(changed(path, value), schema()) != []


def test_array_that_is_built_differently_today_is_refused() -> None:
    with pytest.raises(MappingError) as error:
        from_dict(changed("arch.fingerprint", "0123"), "m.json")
    assert str(error.value) == (
        "m.json: arch: this gridloom builds another array from the same description "
        f"(fingerprint {hand.mesh_fifo_2().arch.fingerprint}, file 0123); map again"
    )


def test_fingerprint_may_be_left_out() -> None:
    assert same(from_dict(changed("arch.fingerprint", ...)), hand.mesh_fifo_2())


# -- older versions: two made-up ones, since there is no older version yet ---------------------------------------------


def _from_minus_1(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "version": 0, "period": data["speed"]}


def _from_0(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "version": 1, "ii": data["period"]}


@pytest.fixture
def migrations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_format, "MIGRATIONS", {-1: _from_minus_1, 0: _from_0})


@pytest.mark.usefixtures("migrations")
def test_older_file_is_brought_up_to_date_one_version_after_the_other() -> None:
    for old in ({"version": 0, "period": 1}, {"version": -1, "speed": 1}):
        data = {key: value for key, value in SOUND.items() if key != "ii"} | old
        assert same(from_dict(data), hand.mesh_fifo_2())


@pytest.mark.usefixtures("migrations")
def test_older_file_that_is_not_sound_is_refused() -> None:
    with pytest.raises(MappingError, match=r"^m: is not a sound file of version 0: KeyError\('period'\)$"):
        from_dict(SOUND | {"version": 0}, "m")


@pytest.mark.usefixtures("migrations")
def test_unknown_version_lists_those_that_are_read() -> None:
    with pytest.raises(MappingError, match=r"^m: version 7 is not known; this gridloom reads -1, 0, 1$"):
        from_dict(SOUND | {"version": 7}, "m")
