"""CCF, SAT-MapIt, Morpher, E2EMap: what each line becomes, and what a wrong one is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compiler.conftest import CCF_EDGES, CCF_NODES, E2EMAP, MORPHER, SATMAPIT

from gridloom.compiler.graphs import ccf, e2emap, morpher, satmapit
from gridloom.dfg import Dfg
from gridloom.errors import GridloomError


def plain(dfg: Dfg) -> list[tuple[str, str, int, str, int, int]]:
    return [(e.source, e.target, e.operand, e.kind, e.distance, e.delay) for e in dfg.edges]


# -- CCF ------------------------------------------------------------------------------------------------------------


def test_ccf_edges_become_data_pairs_and_orders() -> None:
    dfg = ccf.loads(CCF_NODES, CCF_EDGES, "loop")
    assert [(n.id, n.op) for n in dfg.nodes] == [
        ("0", "select"), ("1", "load_address"), ("2", "load_data"), ("3", "const"), ("4", "livein"),
    ]  # fmt: skip
    assert plain(dfg) == [
        ("2", "0", 0, "data", 1, 1),
        ("3", "0", 1, "data", 0, 1),
        ("0", "1", 0, "data", 0, 1),
        ("1", "2", 0, "pair", 0, 1),
        ("4", "0", 2, "data", 0, 1),
        ("2", "1", 0, "order", 1, 1),
    ]
    assert dfg.node("3").value == 7
    assert dfg.node("4").variable == "gPtr1"


def test_ccf_store_pairs_have_no_delay_and_follow_the_value() -> None:
    dfg = ccf.loads("1\t0\n2\t21\n3\t22\n", "2\t3\t0\tSRE\t0\n1\t3\t0\tTRU\t0\n1\t2\t0\tTRU\t0\n", "loop")
    assert plain(dfg)[:2] == [("2", "3", 1, "pair", 0, 0), ("1", "3", 0, "data", 0, 1)]


def test_ccf_older_lines_without_distance_are_distance_zero() -> None:
    dfg = ccf.loads("1\t30\n2\t0\n", "1\t 2\t TRU\n", "loop")
    assert plain(dfg) == [("1", "2", 0, "data", 0, 1)]


def test_ccf_constants_carried_around_the_loop_have_no_distance() -> None:
    dfg = ccf.loads("1\t30\tConstInt-3\n2\t0\n", "1\t2\t1\tTRU\t0\n", "loop")
    assert (dfg.node("1").value, dfg.edges[0].distance) == (-3, 0)


@pytest.mark.parametrize("name", ["loop7_node.txt", "loop7_edge.txt", "liveout_edge.txt", "livein_node.txt"])
def test_ccf_any_one_file_names_the_loop(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop7_node.txt").write_text(CCF_NODES)
    (tmp_path / "loop7_edge.txt").write_text(CCF_EDGES)
    (tmp_path / "livein_node.txt").write_text("")
    (tmp_path / "liveout_node.txt").write_text("2\t20\t2\n9\t22\tst_data_total\n")
    (tmp_path / "liveout_edge.txt").write_text("2\t9\t0\tTRU\t0\n")
    dfg = ccf.read(tmp_path / name)
    assert dfg.name == "loop7"
    assert dfg.node("2").liveout == "total"


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ("1\n", "", "n:1: found 1 column; expected id, opcode, name, bytes"),
        ("1\t0\n\n1\t0\n", "", "n:3: node '1' is given twice; ids must differ"),
        ("1\t36\n", "", "n:1: opcode of node 1 is 36; expected 0 to 35"),
        ("x\t0\n", "", "n:1: node id is 'x'; expected an integer"),
        ("1\t0\n", "1\t2\t0\tTRU\t0\n", "e:1: edge 1 -> 2 names node '2', which is not given"),
        (
            "1\t0\n",
            "1\t1\t0\tTRU\n",
            "e:1: found 4 columns; expected source, target, distance, type, operand (or source, target, type)",
        ),
        ("1\t0\n", "1\t1\t1\tABC\t0\n", "e:1: edge type is 'ABC'; expected one of TRU, PRE, LIE, LRE, SRE, MEM"),
        ("1\t0\n", "1\t1\t-1\tTRU\t0\n", "e:1: distance is -1; expected 0 to 4096"),
        (
            "1\t0\n",
            "1\t1\t0\tTRU\t0\n",
            "e: graph 'g': has a cycle of distance 0: 1 -> ...; a value cannot depend on itself in one iteration",
        ),
        ("", "", "e: graph 'g': has no node; a graph needs at least one"),
    ],
)
def test_ccf_errors(nodes: str, edges: str, message: str) -> None:
    with pytest.raises(GridloomError) as caught:
        ccf.loads(nodes, edges, "g", "n", "e")
    assert str(caught.value) == message


def test_ccf_without_its_edge_file_says_which_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "final_node.txt"
    path.write_text(CCF_NODES)
    with pytest.raises(GridloomError) as caught:
        ccf.read(path)
    assert str(caught.value) == f"{path}: needs final_edge.txt beside it, which is not there"


# -- SAT-MapIt ------------------------------------------------------------------------------------------------------


def test_satmapit_operands_come_from_node_lines_and_distances_from_edges() -> None:
    dfg = satmapit.loads(dict(SATMAPIT), "loop")
    assert [(n.id, n.op) for n in dfg.nodes] == [("0", "phi"), ("1", "add"), ("3", "const"), ("4", "livein")]
    assert sorted(plain(dfg)) == [
        ("0", "1", 0, "data", 0, 1),
        ("1", "0", 1, "data", 1, 1),
        ("3", "0", 0, "data", 0, 1),
        ("4", "1", 1, "data", 0, 1),
    ]
    assert dfg.node("1").liveout == "liveout9"


def test_satmapit_undefined_operands_are_live_ins_where_their_files_are_missing() -> None:
    dfg = satmapit.loads({key: SATMAPIT[key] for key in ("_nodes", "_edges")}, "loop")
    assert [(n.id, n.op) for n in dfg.nodes] == [("0", "phi"), ("1", "add"), ("3", "livein"), ("4", "livein")]


def test_satmapit_a_value_read_twice_feeds_both_operands() -> None:
    dfg = satmapit.loads({"_nodes": "1 load -1 -1 -1 29\n2 mul 1 1 -1 3\n", "_edges": "1 2 0 1\n"}, "loop")
    assert [(e.source, e.operand) for e in dfg.edges] == [("1", 0), ("1", 1)]


@pytest.mark.parametrize("ending", ["_nodes", "_edges", "_constants", "_liveinnodes", "_liveout_edges"])
def test_satmapit_any_one_file_names_the_loop(tmp_path: Path, ending: str) -> None:
    for key, text in SATMAPIT.items():
        (tmp_path / f"bits{key}").write_text(text)
    assert satmapit.read(tmp_path / f"bits{ending}") == satmapit.loads(dict(SATMAPIT), "bits")


@pytest.mark.parametrize(
    ("ending", "text", "message"),
    [
        ("_nodes", "0 phi 1\n", "x_nodes:1: found 3 columns; expected 6"),
        ("_nodes", "0 phi a 1 -1 40\n", "x_nodes:1: left is 'a'; expected an integer"),
        ("_nodes", "0 phi 7 -1 -1 40\n1 add 0 4 -1 1\n", "x_nodes: node 0 reads 7, which no file gives"),
        ("_nodes", "0 a -1 -1 -1 4\n0 a -1 -1 -1 4\n", "x_nodes:2: node '0' is given twice; ids must differ"),
        ("_edges", "0 1 0 1\n1 8 1 1\n", "x_edges:2: edge 1 -> 8 names node '8', which is not given"),
        ("_edges", "0 1 5000 1\n", "x_edges:1: distance is 5000; expected 0 to 4096"),
        ("_constants", "3 0 z 1\n", "x_constants:1: value of constant 3 is 'z'; expected an integer"),
    ],
)
def test_satmapit_errors(ending: str, text: str, message: str) -> None:
    with pytest.raises(GridloomError) as caught:
        satmapit.loads({**SATMAPIT, ending: text}, "g", "x")
    assert str(caught.value) == message


# -- Morpher --------------------------------------------------------------------------------------------------------


def test_morpher_outputs_become_operands_and_orders() -> None:
    dfg = morpher.loads(MORPHER, "k")
    assert [(n.id, n.op, n.label, n.value) for n in dfg.nodes] == [("1", "load", "LOAD", 4), ("2", "add", "ADD", None)]
    assert plain(dfg) == [("1", "2", 0, "data", 0, 1), ("2", "2", 1, "data", 1, 1), ("2", "1", 0, "order", 1, 1)]


def test_morpher_an_idx_given_twice_is_one_node_and_noted() -> None:
    text = MORPHER.replace('count="2"', 'count="3"').replace("</DFG>", '<Node idx="1"><OP>STORE</OP></Node>\n</DFG>')
    dfg = morpher.loads(text, "k")
    assert len(dfg.nodes) == 2
    assert dfg.notes == "the file gives idx 1 more than once; each is read as one node, under its first op"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (MORPHER, "<a/>", "m: has no <DFG> element; expected a Morpher DFG"),
        ("</DFG>", "", "m: is cut short: <DFG> announces 2 nodes, 2 are complete"),
        ('count="2"', 'count="9"', "m: is cut short: <DFG> announces 9 nodes, 2 are complete"),
        ('count="2"', "", "m:3: count of <DFG> is ''; expected an integer"),
        ("<OP>LOAD</OP>", "", "m:9: </Node> closes a node without an <OP>"),
        ('type="I1"', 'type="I9"', "m:7: type of <Output> is 'I9'; expected I1, I2, I3, P or PS"),
        ('nextiter="0"', 'nextiter="x"', "m:7: nextiter is 'x'; expected an integer"),
        (
            '<Output idx="2" nextiter="0"',
            '<Output idx="5" nextiter="0"',
            "m:7: edge 1 -> 5 names node '5', which is not given",
        ),
        (
            'nextiter="0" ',
            "",
            "m:7: <Output> has no nextiter: this is the older dialect, which does not say which edges are "
            "loop-carried; write the file again with a newer Morpher",
        ),
        (
            '<Output idx="2" nextiter="1"',
            '<Output idx="2" nextiter="0"',
            "m: graph 'k': has a cycle of distance 0: 2 -> ...; a value cannot depend on itself in one iteration",
        ),
        ("<MutexBB>", "<!DOCTYPE x>", "m:1: expected a tag, found '<!DOCTYPE x>\\n</Mutex'"),
    ],
)  # fmt: skip
def test_morpher_errors(old: str, new: str, message: str) -> None:
    with pytest.raises(GridloomError) as caught:
        morpher.loads(MORPHER.replace(old, new, 1), "k", "m")
    assert str(caught.value) == message


# -- E2EMap ---------------------------------------------------------------------------------------------------------


def test_e2emap_children_become_edges() -> None:
    assert [(e.source, e.target, e.operand) for e in e2emap.loads(E2EMAP, "k").edges] == [
        ("1", "2", 0), ("1", "3", 0), ("2", "3", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "1,2\n",
            "k:1: found 2 comma-separated columns; expected 13 (id, four times child and type, earliest, latest, "
            "special, fed)",
        ),
        ("1,x,0,0,0,0,0,0,0,0,0,0,0\n", "k:1: column 2 is 'x'; expected an integer"),
        ("0,0,0,0,0,0,0,0,0,0,0,0,0\n", "k:1: node id is 0; ids count from 1"),
        ("1,4,0,0,0,0,0,0,0,0,0,0,0\n", "k:1: edge 1 -> 4 names node '4', which is not given"),
        ("1,1,-1,0,0,0,0,0,0,0,0,0,0\n", "k:1: type of the edge to 1 is -1; expected 0 to 4096"),
        ("1,0,0,0,0,0,0,0,0,0,0,0,0\n" * 2, "k:2: node '1' is given twice; ids must differ"),
    ],
)
def test_e2emap_errors(text: str, message: str) -> None:
    with pytest.raises(GridloomError) as caught:
        e2emap.loads(text, "k", "k")
    assert str(caught.value) == message
