"""Small graphs in every published format, and strategies that break them."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from gridloom.compiler.graphs import ccf, dot, e2emap, morpher, satmapit
from gridloom.dfg import Dfg, json_format

NEOSA = "strict digraph {\n0 [label=INPUT0];\n1 [label=MULT1];\n2 [label=ADD2];\n0 -> 1;\n0 -> 2; 1 -> 2;\n}\n"
GENMAP = (
    'digraph {\n# inputs\n"i" [type=input]\n"a" [type=op,opcode=ADD]\n"c" [type=const,value=0x10]\n'
    '"o" [type=output]\n"i" -> "a"\n"c" -> "a" [operand=0]\n"a" -> "o"\n}\n'
)
ELASTIC = 'digraph G {\nc[opcode=const, const_value=" 4"];\nl[opcode=load];\nc->l[operand=0]; //const->load\n}\n'
CGRA_BENCH = 'digraph "f" {\nNode0phi[label="P"];\nNode1add;\nedge [color=black]\nNode0phi -> Node1add -> Node0phi\n}\n'
OURS = (
    'digraph "g" {\n format="gridloom-dfg"; version="1"; domain="i32";\n "x" [op="input"];\n "y" [op="add"];\n'
    ' "x" -> "y";\n "y" -> "y" [operand="1", distance="1", initial="[3]"];\n}\n'
)
JSON = (
    '{"format": "gridloom-dfg", "version": 1, "name": "g", "domain": "opaque",\n'
    ' "nodes": [{"id": "a", "op": "input"}, {"id": "b", "op": "add"}],\n "edges": [{"source": "a", "target": "b"}]}\n'
)
CCF_NODES = "0\t29\t0\t0\n1\t19\t1\t4\n2\t20\t2\t0\n3\t30\tConstInt7\t0\n4\t30\tgPtr1\t4\n"
CCF_EDGES = "2\t0\t1\tTRU\t0\n3\t0\t0\tTRU\t1\n0\t1\t0\tTRU\t0\n1\t2\t0\tLRE\t0\n4\t0\t0\tLIE\t2\n2\t1\t1\tMEM\t0\n"
SATMAPIT = {
    "_nodes": "0 phi 3 1 -1 40\n1 add 0 4 -1 1\n",
    "_edges": "0 1 0 1\n1 0 1 1\n",
    "_constants": "3 0 0 1\n",
    "_liveinnodes": "4\n",
    "_liveout_edges": "1 9 0 1\n",
}
MORPHER = (
    "<MutexBB>\n</MutexBB>\n"
    '<DFG count="2">\n<Node idx="1" ASAP="0" ALAP="0"BB="a"CONST="4">\n<OP>LOAD</OP>\n<Outputs>\n'
    '\t<Output idx="2" nextiter="0" type="I1"/>\n</Outputs>\n</Node>\n<Node idx="2" ASAP="0" ALAP="0"BB="a">\n'
    '<OP>ADD</OP>\n<Outputs>\n\t<Output idx="2" nextiter="1" type="I2"/>\n\t<Output idx="1" nextiter="1" type="PS"/>\n'
    "</Outputs>\n</Node>\n</DFG>\n"
)
E2EMAP = "1,2,0,3,0,0,0,0,0,0,0,0,0\n2,3,0,0,0,0,0,0,0,1,1,0,1\n3,0,0,0,0,0,0,0,0,2,2,0,1\n"

#: Every text reader as one function of one text, with a text that it takes.
READERS: dict[str, tuple[Callable[[str], Dfg], str]] = {
    "neosa": (lambda text: dot.loads(text, "g"), NEOSA),
    "genmap": (lambda text: dot.loads(text, "g"), GENMAP),
    "elastic": (lambda text: dot.loads(text, "g"), ELASTIC),
    "cgra_bench": (lambda text: dot.loads(text, "g"), CGRA_BENCH),
    "gridloom": (lambda text: dot.loads(text, "g"), OURS),
    "json": (json_format.loads, JSON),
    "ccf_nodes": (lambda text: ccf.loads(text, CCF_EDGES, "g"), CCF_NODES),
    "ccf_edges": (lambda text: ccf.loads(CCF_NODES, text, "g"), CCF_EDGES),
    "morpher": (lambda text: morpher.loads(text, "g"), MORPHER),
    "e2emap": (lambda text: e2emap.loads(text, "g"), E2EMAP),
    **{
        f"satmapit{ending}": (lambda text, e=ending: satmapit.loads({**SATMAPIT, e: text}, "g"), SATMAPIT[ending])  # type: ignore[misc]
        for ending in SATMAPIT
    },
}


@st.composite
def broken(draw: st.DrawFn, text: str) -> str:
    """A text after a few edits: cuts, insertions, swaps of characters and of lines."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        edit = draw(st.sampled_from(["cut", "truncate", "insert", "repeat", "shuffle"]))
        if edit == "cut":
            text = text[:start] + text[end:]
        elif edit == "truncate":
            text = text[:start]
        elif edit == "insert":
            text = text[:start] + draw(st.text(max_size=6)) + text[end:]
        elif edit == "repeat":
            text = text[:start] + text[start:end] * draw(st.integers(2, 5)) + text[end:]
        else:
            lines = text.split("\n")
            text = "\n".join(draw(st.permutations(lines)) if len(lines) < 12 else lines[::-1])
    return text
