"""SAT-MapIt's logs as mappings: what is read, and what no mapping is. Files of the group run where they are."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from gridloom.errors import MappingError, SourceError
from gridloom.flow.confirmation import find_faults
from gridloom.targets.modulo.foreign.satmapit import read

#: A sum of a counter on 2 x 2 PEs: phi 0, its add 1, phi 2 of the sum, its add 3, and the branch 4.
LOG = """#nodes: 5
II: 2
Adding C3...
[0, 1]
Adding back...
[1, 0]
II: 3
KMS
[(0, 0), (0, 2)]
Adding C3...
[0, 1]
[2, 3]
[0, 3]
[1, 4]
Adding back...
[1, 0]
[3, 2]
Time: 0.01
SAT
Kernel
[ 0 2 ]
[ 1 3 ]
[ 4 ]
Schedule
[0, 2]
[1, 3]
[4]
Time: 0.01
Init: 0 - 0
Kernel: 1 - 3
Fini: 4 - 4
T = 0
LWD ROUT
LWD ROUT
LWD R0
NOP
T = 1
SADD R1, ROUT, ZERO
SADD ROUT, ROUT, ZERO
NOP
NOP
T = 2
SADD ROUT, R1, 1
SADD ROUT, ROUT, RCL
NOP
NOP
T = 3
NOP
NOP
BNE RCT, R0, 1
NOP
T = 4
SWD ROUT
NOP
NOP
NOP
T = 0
 _ _ _
Id: 0 name: phi time: 0 pe: 0 Rout: 1 opA: ROUT opB: ZERO immediate: 0
Id: 1 name: add time: 1 pe: 0 Rout: -1 opA: R1 opB: 1 immediate: 1
Id: 2 name: phi time: 0 pe: 1 Rout: -1 opA: ROUT opB: ZERO immediate: 0
Id: 3 name: add time: 1 pe: 1 Rout: -1 opA: ROUT opB: RCL immediate: 0
Id: 4 name: beq time: 2 pe: 2 Rout: -1 opA: RCT opB: R0 immediate: 0
"""


def read_text_of(folder: Path, text: str):
    """The mapping in a text."""
    path = folder / "sum.sat"
    path.write_text(text, encoding="utf-8")
    return read(path)


def test_graph_schedule_and_routes_are_read(tmp_path: Path):
    mapping = read_text_of(tmp_path, LOG)
    assert find_faults(mapping) == []
    assert (mapping.ii, mapping.arch.name) == (3, "openedge-cgra:2x2")
    edges = {(e.source, e.target, e.operand, e.distance) for e in mapping.dfg.edges if not e.source.startswith("c")}
    assert edges == {
        ("1", "0", 0, 1), ("0", "1", 0, 0), ("3", "2", 0, 1), ("2", "3", 0, 0), ("0", "3", 1, 0), ("1", "4", 0, 0),
        ("pe_1_0.r0", "4", 1, 0),
    }  # fmt: skip
    routes = {mapping.dfg.edges[route.edge]: route.hops for route in mapping.routes}
    by_name = {(edge.source, edge.target): hops for edge, hops in routes.items()}
    assert by_name["0", "1"] == (("pe_0_0.r1", 1), ("pe_0_0.in0", 1))
    assert by_name["1", "4"] == (("pe_0_0.out", 2), ("pe_0_0>pe_1_0", 2), ("pe_1_0.in0", 2))
    assert by_name["3", "2"] == (("pe_0_1.out", 2), ("pe_0_1.out", 3), ("pe_0_1.in0", 3))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("SADD ROUT, ROUT, RCL", "SADD ROUT, ROUT, ZERO",
         "node 3 depends on node 0, and its instruction on PE 1 reads ROUT, ZERO"),
        ("SADD ROUT, ROUT, RCL", "SADD ROUT, ROUT, RCB",
         "node 3 reads RCB on PE 1, which is no result of a node that it depends on"),
        ("Kernel: 1 - 3", "Kernel: 1 - 2", "the kernel has 2 instructions, and the II is 3"),
        ("Id: 4 name: beq time: 2", "Id: 4 name: beq time: 1",
         "node 4 is in slot 1 of PE 2, and not there in the schedule"),
        ("Id: 2 name: phi time: 0 pe: 1 Rout: -1 opA: ROUT opB: ZERO immediate: 0\n", "",
         "node 2 is in the graph and not in the code"),
    ],
)  # fmt: skip
def test_code_of_another_graph_is_refused_with_its_reason(tmp_path: Path, old: str, new: str, reason: str):
    assert old in LOG
    with pytest.raises(MappingError, match=re.escape(reason)):
        read_text_of(tmp_path, LOG.replace(old, new))


def test_code_without_a_graph_is_refused(tmp_path: Path):
    with pytest.raises(MappingError, match="has instructions and no graph; the log of the mapper names"):
        read_text_of(tmp_path, LOG[LOG.index("T = 0") : LOG.index("T = 0\n _")])


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("\nSAT\n", "\nUNSAT\n", "has no line 'SAT'; expected the log of SAT-MapIt"),
        ("T = 0\nLWD ROUT\n", "T = 0\n", "has no square of instructions for each T"),
    ],
)
def test_a_broken_log_is_refused(tmp_path: Path, old: str, new: str, reason: str):
    with pytest.raises(SourceError, match=re.escape(reason)):
        read_text_of(tmp_path, LOG.replace(old, new))


def test_an_overwritten_output_register_is_illegal(tmp_path: Path):
    """Planted fault: node 1 runs on the PE of node 3 between that node and the reader of its output register."""
    text = LOG.replace("Id: 1 name: add time: 1 pe: 0", "Id: 1 name: add time: 2 pe: 1")
    text = text.replace("[1, 3]\n[4]\nTime", "[3]\n[1, 4]\nTime").replace("[1, 4]\nAdding back", "Adding back")
    text = text.replace("NOP\nNOP\nBNE RCT, R0, 1", "NOP\nSADD ROUT, RCL, 1\nBNE R1, R0, 1")
    text = text.replace("SADD R1, ROUT, ZERO", "SADD ROUT, RCR, ZERO")
    faults = find_faults(read_text_of(tmp_path, text))
    assert any("pe_0_1.out" in fault for fault in faults), faults


@pytest.mark.skipif("GRIDLOOM_FOREIGN" not in os.environ, reason="GRIDLOOM_FOREIGN names no clones")
def test_files_of_the_group_are_read_or_refused_by_name():
    refused = {}
    for path in sorted(Path(os.environ["GRIDLOOM_FOREIGN"]).rglob("*.sat")):
        try:
            assert find_faults(read(path)) == []
        except MappingError as error:
            refused[path] = str(error)
    reasons = ("has instructions and no graph", "depends on node")
    assert all(any(reason in text for reason in reasons) for text in refused.values()), refused
