"""VPR's routes: both versions of the format are read, and a net that is torn is named with its line."""

from __future__ import annotations

import pytest

from gridloom.errors import MappingError
from gridloom.targets.grid.export.vpr.routes import loads, wirelength

HEAD = "Placement_File: graph.place Placement_ID: SHA256:0\nArray size: 6 x 6 logic blocks.\n\nRouting:\n\n"
EIGHT = """Net 0 (a)

Node:\t1\tSOURCE (1,1)  Class: 1  Switch: 0
Node:\t2\tOPIN (1,1)  Pin: 3   pe.out[0] Switch: 1
Node:\t9\tCHANX (1,1) to (2,1)  Track: 0  Switch: 1
Node:\t3\tIPIN (2,1)  Pin: 0   pe.in[0] Switch: 0
Node:\t4\tSINK (2,1)  Class: 0  Switch: -1
Node:\t9\tCHANX (1,1) to (2,1)  Track: 0  Switch: 1
Node:\t10\tCHANY (2,2)  Track: 1  Switch: 1
Node:\t5\tIPIN (2,2)  Pin: 0   pe.in[0] Switch: 0
Node:\t6\tSINK (2,2)  Class: 0  Switch: -1
"""
NINE = """Net 1 (b)

Node:\t20\tSOURCE (3,7,0)  Class: 1  Switch: 0
Node:\t21\tCHANY (3,7,0) to (3,9,0)  Track: 0  Switch: 1
Node:\t22\tSINK (3,9,0)  Class: 0  Switch: -1
"""


def test_wires_of_both_versions_are_read():
    routes = loads(HEAD + EIGHT + NINE)
    assert [node.kind for node in routes["a"]][:3] == ["SOURCE", "OPIN", "CHANX"]
    assert routes["b"][1].begin == (3, 7)
    assert routes["b"][1].end == (3, 9)


def test_a_wire_that_branches_share_counts_once():
    assert wirelength(loads(HEAD + EIGHT)) == 2 + 1
    assert wirelength(loads(HEAD + NINE)) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (NINE.replace("SOURCE", "OPIN"), "line 8: a net begins with OPIN; expected SOURCE"),
        (
            EIGHT.replace("Node:\t9", "Node:\t8", 2).replace("Node:\t8", "Node:\t9", 1),
            "line 13: a branch begins at node 8",
        ),
        (EIGHT + EIGHT, "net 'a' is routed twice"),
        (NINE.rpartition("Node:")[0], "the last net: the net before ends with CHANY; expected SINK"),
        ("Node:\t1\tSOURCE (1,1)\n", "line 6: a node stands before the first net"),
        ("Net zero\n", "line 6: found 'Net zero'; expected 'Net NUMBER"),
    ],
)
def test_what_is_torn_is_named_with_its_line(text, message):
    with pytest.raises(MappingError, match=message.replace("(", r"\\(")):
        loads(HEAD + text)
