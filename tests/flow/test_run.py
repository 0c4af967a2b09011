"""The flow: what is called mapped, what is called failed, and what a result says."""

from __future__ import annotations

import pytest

from gridloom import flow, registry
from gridloom.errors import OptionError
from gridloom.flow import Request

FIELDS = {
    "status", "verified", "mapper", "seed", "seconds", "dfg", "arch", "failure", "ii", "mii", "res_mii", "rec_mii",
    "latency", "period", "throughput", "wirelength", "longest_wire", "placed_wirelength", "buffers", "width",
    "height", "tiles_used", "routing_tiles", "occupancy", "optimal", "bound", "proof", "found_by",
    "slots",
}  # fmt: skip

pytestmark = pytest.mark.usefixtures("sample_mappers")


def ask(mapping, **options):
    return flow.run(Request(source=mapping.dfg, arch=mapping.arch, **options))


def test_confirmed_mapping_is_mapped_with_every_field(mapping):
    result = ask(mapping, mapper="right", seed=7)
    record = result.to_dict()
    assert record.keys() == FIELDS
    assert (record["status"], record["verified"]) == (
        "mapped",
        {"legal": True, "simulated": True, "compared_with": "graph"},
    )
    assert (record["mapper"], record["seed"], record["failure"]) == ("right", 7, None)
    assert record["dfg"] == {"name": "pass", "nodes": 2, "edges": 1}
    assert record["arch"] == {"name": "mesh:1x2", "rows": 1, "cols": 2, "tiles": 2}
    assert (record["ii"], record["mii"], record["res_mii"], record["rec_mii"]) == (1, 1, 1, 1)
    assert (record["wirelength"], record["buffers"], record["tiles_used"]) == (0, {"max": 0, "total": 0}, 2)
    assert (record["optimal"], record["bound"]) == (False, None)


def test_seconds_are_those_of_the_mappers_own_clock(mapping):
    assert ask(mapping, mapper="right").seconds == 0.25


def test_mapping_that_breaks_a_rule_is_a_failure_that_says_so(mapping):
    result = ask(mapping, mapper="late")
    assert result.status == "failed"
    assert result.mapping is None
    assert result.refused is not None
    assert result.to_dict()["verified"] == {"legal": False, "simulated": False, "compared_with": "graph"}
    assert "legality of what the mapper returned" in str(result.failure)
    assert "timing at" in str(result.failure)
    assert result.to_dict()["wirelength"] is None


def test_mapping_that_computes_something_else_is_a_failure(mapping, monkeypatch):
    monkeypatch.setattr("gridloom.flow.confirmation.illegalities", lambda mapping: [])
    result = ask(mapping, mapper="late")
    assert result.to_dict()["verified"] == {"legal": True, "simulated": False, "compared_with": "graph"}
    assert "simulation of what the mapper returned" in str(result.failure)
    assert result.to_dict()["latency"] is None


def test_failure_of_the_mapper_is_passed_on(mapping):
    record = ask(mapping, mapper="unable").to_dict()
    assert record["status"] == "failed"
    assert record["failure"] == {
        "constraint": "links",
        "demand": "3",
        "bound": "2",
        "levers": ["1 column more"],
        "congested": ["pe_0_0>pe_0_1"],
        "cause": "exhausted",
    }
    assert (record["ii"], record["mii"]) == (None, 1)


def test_ii_below_the_recurrence_fails_before_any_search():
    result = flow.run(Request(source="kernel:atax", arch="torus:4x4", mapper="right", ii=2))
    assert str(result.failure) == "recurrence: needs II 3, has II 2; would help: II 3"
    assert result.seconds == 0.0


def test_graph_larger_than_the_array_at_this_ii_fails_before_any_search():
    result = flow.run(Request(source="kernel:mvt", arch="torus:2x2", mapper="right", ii=4))
    assert str(result.failure).startswith("tiles: needs II 7 (")
    assert result.failure.levers == ("II 7", "2 columns more")


def test_op_class_that_no_tile_has_is_named():
    failure = flow.run(Request(source="kernel:fir", arch="rdu:4x4")).failure
    assert failure.constraint == "op classes"
    assert failure.demand == "a tile for alu and for input and for mul and for output"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ii": 2}, "--ii: array 'mesh:1x2' is static: its II is 1, found 2"),
        ({"ii": 0}, "--ii: expected at least 1, found 0"),
        ({"jobs": 0}, "--jobs: expected at least 1, found 0"),
        ({"place": {}, "init": {}}, "--place fixes every node, --init is only a start; give one of them"),
        ({"init": {"x": "pe_0_0"}}, "--init: mapper 'right' does not take it"),
        ({"pin": {"z": "pe_0_0"}}, "--pin: graph 'pass' has no node 'z'"),
        ({"pin": {"x": "pe_9_9"}}, "--pin: array 'mesh:1x2' has no tile 'pe_9_9' (node 'x')"),
        (
            {"place": {"x": "pe_0_0"}},
            "--place: has no tile for 1 node (y); --place needs every node, --init and --pin do not",
        ),
        ({"settings": {"pin": "a"}}, "--set: pin is not a setting; use --pin"),
    ],
)
def test_bad_option_is_one_message(mapping, options, message):
    with pytest.raises(OptionError.__base__) as caught:
        ask(mapping, mapper="right", **options)
    assert str(caught.value) == message


def test_unknown_mapper_suggests_the_nearest(mapping):
    with pytest.raises(OptionError, match="no mapper is called 'rigth'; did you mean right"):
        ask(mapping, mapper="rigth")


def test_auto_names_what_is_available_for_a_style_without_a_mapper(monkeypatch):
    named = {name: registry.entry("mappers", name) for name in ("portfolio", "anneal")}
    monkeypatch.setitem(registry.groups(), "mappers", named)
    message = r"no mapper searches on arrays like 'rdu:4x4' \(style elastic, traits: switches\); by name: portfolio$"
    with pytest.raises(OptionError, match=message):
        flow.run(Request(source="kernel:fir", arch="rdu:4x4"))
