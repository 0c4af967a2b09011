"""The DOT language, its dialects, and our own files there and back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compiler.conftest import CGRA_BENCH, ELASTIC, GENMAP, NEOSA, OURS

import gridloom as gl
from gridloom.compiler.graphs import dot, dot_syntax, dot_writer
from gridloom.dfg import Dfg, DfgBuilder, Edge, MemoryArray, Node
from gridloom.errors import GridloomError, SourceError
from gridloom.targets.dataflow.program.model import TensorOperation, TensorProgram, TokenEdge, UnitGraph, UnitNode


def edges(text: str) -> list[tuple[str, str]]:
    return [(edge.source, edge.target) for edge in dot_syntax.parse(text, "g").edges]


# -- the language ---------------------------------------------------------------------------------------------------


def test_chains_ports_and_optional_semicolons() -> None:
    assert edges("digraph { a:p:n -> b:s -> c d -> a; }") == [("a", "b"), ("b", "c"), ("d", "a")]


def test_subgraphs_are_edge_ends() -> None:
    found = edges("digraph { x -> subgraph k { a; b } -> {c} ; {a b} }")
    assert found == [("x", "a"), ("x", "b"), ("a", "c"), ("b", "c")]


def test_strict_merges_parallel_edges_and_their_attributes() -> None:
    graph = dot_syntax.parse("strict digraph { a -> b [operand=1]; a -> b [kind=x] }", "g")
    assert [edge.attributes for edge in graph.edges] == [{"operand": "1", "kind": "x"}]
    assert len(dot_syntax.parse("digraph { a -> b; a -> b }", "g").edges) == 2


def test_quoted_ids_concatenate_and_unescape_quotes_only() -> None:
    graph = dot_syntax.parse(r'digraph { "a b" + "\"c" [label="x\ny\\"] }', "g")
    assert list(graph.nodes) == ['a b"c']
    assert graph.nodes['a b"c'].attributes == {"label": r"x\ny\\"}


def test_comments_of_all_three_kinds_are_skipped() -> None:
    assert edges("# cpp\ndigraph { // line\n a /* -> x */ -> b\n\t# indented\n}") == [("a", "b")]


def test_defaults_hold_from_where_they_stand_and_inside_their_braces() -> None:
    text = "digraph { a; node [opcode=x]; b; { node [opcode=y]; c } d [opcode=z]; edge [operand=2] a -> b }"
    graph = dot_syntax.parse(text, "g")
    assert {node.id: node.attributes.get("opcode") for node in graph.nodes.values()} == {
        "a": None, "b": "x", "c": "y", "d": "z",
    }  # fmt: skip
    assert graph.edges[0].attributes == {"operand": "2"}


def test_later_attributes_of_a_node_win() -> None:
    assert dot_syntax.parse("digraph { 9[label=ff0]; 9[label=add1] }", "g").nodes["9"].attributes == {"label": "add1"}


def test_keywords_are_case_insensitive_and_harmless_in_quotes() -> None:
    assert edges('DIGRAPH { "node" -> "edge" }') == [("node", "edge")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph { a -- b }", "g.dot:1: is an undirected graph; a dataflow graph needs 'digraph'"),
        ("digraph {\n a -- b }", "g.dot:2: '--' is an undirected edge; a digraph has '->'"),
        ("digraph { a [label=<b>] }", "g.dot:1: HTML-like ids (<...>) are not taken; put the text in quotes"),
        ("digraph {\n a -> b", "g.dot:2: the text ends inside the graph; a '}' is missing"),
        ('digraph {\n\n "a }', "g.dot:3: a quoted id is opened and never closed"),
        ("digraph { /* a }", "g.dot:1: a comment is opened by /* and never closed"),
        ("digraph { a -> }", "g.dot:1: expected a node after '->', found '}'"),
        ("digraph { a [label=] }", "g.dot:1: expected a value for label, found ']'"),
        ("digraph { a } b", "g.dot:1: expected the end of the text after the graph, found 'b'"),
        ("digraph { 2a }", "g.dot:1: an id that starts with a digit must be a number or stand in quotes"),
        ("digraph { a % b }", "g.dot:1: unexpected character '%'; ids with such characters must stand in quotes"),
        ("digraph { node a }", "g.dot:1: expected '[' and attributes, found 'a'"),
        ("hello", "g.dot:1: expected 'digraph', found 'hello'"),
        ("", "g.dot:1: expected 'digraph', found the end of the text"),
        ("digraph g [", "g.dot:1: expected '{' after the graph's name, found '['"),
        ("digraph {}", "g.dot: has no node; a graph needs at least one"),
        ("digraph " + "{" * 70, "g.dot:1: subgraphs nest deeper than 64, the most that is taken"),
    ],
)
def test_what_is_no_digraph_is_refused_with_line_found_and_expected(text: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        dot.loads(text, "g", "g.dot")
    assert str(caught.value) == message


# -- dialects -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [(NEOSA, "neosa"), (GENMAP, "genmap"), (ELASTIC, "elastic"), (CGRA_BENCH, "cgra_bench"), (OURS, "gridloom")],
)
def test_the_dialect_shows_in_the_attributes(text: str, name: str) -> None:
    assert dot.dialect(dot_syntax.parse(text, "g")) == name


def test_neosa_sources_are_inputs_and_labels_give_ops_and_multipliers() -> None:
    dfg = dot.loads("digraph { 0 [label=MULT0]; 1 [label=MULT1]; 2 [label=OUT_1]; 3; 0 -> 1 -> 2; 1 -> 3 }", "g")
    assert [(n.op, dfg.op_class(n.id)) for n in dfg.nodes] == [
        ("input", "mul"), ("mul", "mul"), ("output", "output"), ("op", "alu"),
    ]  # fmt: skip


# Written for this test in the form of the UCSB ExPRESS suite: numbered names of three letters, edges with a name.
EXPRESS = """digraph own_example {
    LOD_1 [label = LOD_1 ];
    IMP_2 [ label = IMP_2 ];
    MUL_3 [label = MUL_3 ];
    ADD_4 [label = ADD_4 ];
    SUB_5 [label = SUB_5 ];
    ASR_6 [label = ASR_6 ];
    LSL_7 [label = LSL_7 ];
    NEG_8 [label = NEG_8 ];
    AND_9 [label = AND_9 ];
    DIV_10 [label = DIV_10 ];
    BGE_11 [label = BGE_11 ];
    STR_12 [label = STR_12 ];
    EXP_13 [label = EXP_13 ];
    LOD_1 -> MUL_3 [ name = 0 ];
    IMP_2 -> MUL_3 [ name = 1 ];
    MUL_3 -> ADD_4 [ name = 2 ];
    LOD_1 -> ADD_4 [ name = 3 ];
    ADD_4 -> SUB_5 [ name = 4 ];
    MUL_3 -> SUB_5 [ name = 5 ];
    SUB_5 -> ASR_6 [ name = 6 ];
    ASR_6 -> LSL_7 [ name = 7 ];
    SUB_5 -> NEG_8 [ name = 8 ];
    LSL_7 -> AND_9 [ name = 9 ];
    NEG_8 -> AND_9 [ name = 10 ];
    AND_9 -> DIV_10 [ name = 11 ];
    DIV_10 -> BGE_11 [ name = 12 ];
    AND_9 -> STR_12 [ name = 13 ];
    BGE_11 -> EXP_13 [ name = 14 ];
}
"""


def test_graphs_in_the_form_of_the_express_suite_keep_their_op_classes_and_edges() -> None:
    dfg = dot.loads(EXPRESS, "own_example")
    assert (len(dfg.nodes), len(dfg.edges)) == (13, 15)
    assert [dfg.op_class(node) for node in ("MUL_3", "DIV_10", "SUB_5", "AND_9")] == ["mul", "div", "alu", "alu"]
    assert {edge.operand for edge in dfg.edges if edge.target == "SUB_5"} == {0, 1}


@pytest.mark.parametrize("arch", ["mesh:4x4", "chess:4x4,inputs=skewed"])
def test_graphs_in_the_form_of_the_express_suite_map(arch: str, tmp_path: Path) -> None:
    path = tmp_path / "own_example.dot"
    path.write_text(EXPRESS, encoding="utf-8")
    record = gl.map(str(path), arch=arch, effort=20_000).to_dict()
    assert record["verified"] == {"legal": True, "simulated": True, "compared_with": "graph"}


def test_a_neosa_self_loop_is_carried_over_one_iteration() -> None:
    dfg = dot.loads("digraph { a [label=x]; b [label=add]; a -> b; b -> b }", "g")
    assert [(e.source, e.target, e.distance, e.operand) for e in dfg.edges] == [("a", "b", 0, 0), ("b", "b", 1, 1)]


def test_genmap_edges_without_operand_take_the_free_one() -> None:
    dfg = dot.loads(GENMAP, "g")
    assert [(e.source, e.target, e.operand) for e in dfg.edges] == [("i", "a", 1), ("c", "a", 0), ("a", "o", 0)]
    assert dfg.node("c").value == 16
    assert dfg.domain == "cma24"


def test_elastic_operands_are_ranked_and_constants_kept() -> None:
    dfg = dot.loads(
        'digraph { c[opcode=const, const_value=" 4"]; l[opcode=load]; m[opcode=sub]; '
        "c->m[operand=1]; l->m[operand=0] }",
        "g",
    )
    assert dfg.node("c").op == "const"
    assert dfg.node("c").value == 4
    assert [(e.source, e.operand) for e in dfg.edges] == [("c", 1), ("l", 0)]


def test_back_edges_of_cgra_bench_get_distance_one() -> None:
    dfg = dot.loads(CGRA_BENCH, "g")
    assert [(e.source, e.target, e.distance) for e in dfg.edges] == [
        ("Node0phi", "Node1add", 0), ("Node1add", "Node0phi", 1),
    ]  # fmt: skip


def test_a_store_with_a_consumer_stays_a_memory_op() -> None:
    dfg = dot.loads("digraph { Node0load; Node1store; Node2add; Node0load -> Node1store -> Node2add }", "g")
    assert dfg.node("Node1store").op == "opaque_store"
    assert dfg.op_class("Node1store") == "mem"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("digraph {\na [type=op] }", "g.dot:2: op 'a' has no opcode"),
        ("digraph {\na [type=what] }", "g.dot:2: node 'a' has type 'what'; expected op, const, input or output"),
        ("digraph {\na [type=input];\nb }", "g.dot:3: node 'b' has no type; expected op, const, input or output"),
        ("digraph {\na [type=const] }", "g.dot:2: const 'a' has no value"),
        ("digraph {\na [type=const, value=x] }", "g.dot:2: value of const 'a' is 'x'; expected an integer"),
        (
            "digraph {\na [type=const, datatype=float, value=1] }",
            "g.dot:2: const 'a' has datatype 'float'; the 24-bit domain takes int",
        ),
        (
            "digraph {\ni [type=input]; a [type=op, opcode=NOT];\ni -> a; i -> a }",
            "g.dot:3: node 'a' (not) has 2 incoming edges; not takes 1",
        ),
        (
            "digraph {\ni [type=input]; a [type=op, opcode=ADD];\ni -> a [operand=1]; i -> a [operand=1] }",
            "g.dot:3: edges into 'a' (add) ask for operands 1, 1; expected each of 0, 1 at most once",
        ),
        (
            "digraph {\ni [type=input]; a [type=op, opcode=ADD];\ni -> a [operand=x]; i -> a }",
            "g.dot:3: operand of edge i -> a is 'x'; expected an integer",
        ),
        (
            "digraph { a [type=op, opcode=ADD]; a -> a; a -> a }",
            "g.dot: graph 'g': has a cycle of distance 0: a -> ...; a value cannot depend on itself in one iteration",
        ),
        (
            'digraph { format="gridloom-dfg"; version=1; domain=i32; a [op=const, value="["] }',
            "g.dot: node 'a': value is '['; expected a JSON value",
        ),
        ('digraph { format="gridloom-dfg"; a }', "g.dot: version None is not known; this gridloom reads 1"),
    ],
)
def test_a_wrong_dialect_file_names_line_found_and_expected(text: str, message: str) -> None:
    with pytest.raises(GridloomError) as caught:
        dot.loads(text, "g", "g.dot")
    assert str(caught.value) == message


def test_an_unknown_genmap_opcode_lists_the_known_ones() -> None:
    with pytest.raises(SourceError, match=r"^g:1: node 'a': op 'fma' is not in domain 'cma24'; it has: const, "):
        dot.loads("digraph { a [type=op, opcode=FMA] }", "g", "g")


# -- our own files --------------------------------------------------------------------------------------------------

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
VALUES = st.one_of(st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False))


@st.composite
def graphs(draw: st.DrawFn) -> Dfg:
    ids = draw(st.lists(TEXT.filter(bool), min_size=1, max_size=6, unique=True))
    nodes = [
        Node(
            id=node_id,
            op=draw(st.sampled_from(["add", "mul", "phi", "select"])),
            value=draw(st.none() | VALUES),
            variable=draw(st.none() | TEXT),
            liveout=draw(st.none() | TEXT),
            op_class=draw(st.sampled_from([None, "mul", "mem"])),
            label=draw(st.none() | TEXT),
        )
        for node_id in ids
    ]
    operand = dict.fromkeys(ids, 0)
    found = []
    for source, target in draw(st.lists(st.tuples(st.sampled_from(ids), st.sampled_from(ids)), max_size=8)):
        kind = draw(st.sampled_from(["data", "order", "pair", "async"]))
        distance = draw(st.integers(0 if ids.index(source) < ids.index(target) else 1, 3))
        initial = tuple(draw(st.lists(VALUES, max_size=distance)))
        number = 0
        if kind != "order":
            number, operand[target] = operand[target], operand[target] + 1
        found.append(
            Edge(
                source=source, target=target, operand=number, kind=kind, distance=distance, initial=initial,
                delay=draw(st.integers(0, 2)),
            )
        )  # fmt: skip
    arrays = tuple(MemoryArray(name=name, length=4) for name in draw(st.lists(TEXT, max_size=2, unique=True)))
    return Dfg(
        name=draw(TEXT), domain="opaque", nodes=tuple(nodes), edges=tuple(found), arrays=arrays, notes=draw(TEXT)
    )


@given(graphs())
def test_a_graph_written_as_dot_reads_back_equal(dfg: Dfg) -> None:
    assert dot.loads(dot_writer.dumps(dfg), "other name") == dfg


@pytest.mark.parametrize(
    "dfg",
    [
        UnitGraph(
            name="units",
            nodes=(UnitNode(id="a", op="input", work=3), UnitNode(id="b", op="buffer")),
            edges=(TokenEdge(source="a", target="b", tokens=4, takes=8, takes_every=2, puts_every=3, room=16, part=1),),
        ),
        TensorProgram(
            name="program",
            nodes=(
                TensorOperation(id="a", op="input", shape=(2, 3)),
                TensorOperation(id="b", op="transpose", label="permute", shape=(3, 2), how="axes=1,0"),
            ),
            edges=(Edge(source="a", target="b"),),
        ),
    ],
    ids=["units", "program"],
)  # fmt: skip
def test_further_fields_of_a_domain_survive_dot(dfg: Dfg) -> None:
    assert dot.loads(dot_writer.dumps(dfg), "other name") == dfg


@given(st.text(st.characters(codec="utf-8")))
def test_quoted_text_survives_the_parser(text: str) -> None:
    graph = dot_syntax.parse(f"digraph {{ {dot_writer.quote(text)} }}", "g")
    assert [dot_writer.unescape(node_id) for node_id in graph.nodes] == [text]


def test_what_is_written_draws_ops_and_distances() -> None:
    builder = DfgBuilder("acc", "i32")
    total = builder.add("add", builder.input("x"), id="sum")
    builder.carry(total, total, operand=1, distance=1, initial=[0])
    dfg = replace(builder.build(), notes='a "note"')
    assert dot_writer.dumps(dfg) == (
        'digraph "acc" {\n'
        '  format="gridloom-dfg"; version="1";\n'
        '  domain="i32";\n'
        '  notes="a \\"note\\"";\n'
        '  "x" [op="input", variable="x", label="input", shape="invhouse"];\n'
        '  "sum" [op="add", label="add", shape="ellipse"];\n'
        '  "x" -> "sum";\n'
        '  "sum" -> "sum" [operand="1", distance="1", initial="[0]", label="1", constraint="false"];\n'
        "}\n"
    )
