"""Small legal mappings, one a family, with the cycles derived in comments."""

from __future__ import annotations

from typing import Any

from tests.verify.sketch import sketch

from gridloom.dfg import Dfg, DfgBuilder, Edge, Node
from gridloom.mapping import Mapping
from gridloom.targets.dataflow.program.model import TokenEdge, UnitGraph, UnitNode


def mesh(spec: str = "mesh:2x2") -> Mapping:
    """x arrives at s two cycles before m does, so s.1 waits in a FIFO of 2.

    x is on pe_0_1 (issue 0, ready 1), one link from m (issue 1, ready 2) and one from s; m's value passes through
    pe_1_0, which costs a cycle, and reaches s at 3; s is ready at 4, o issues at 4 and is done at 5.
    """
    b = DfgBuilder("fork", "i32")
    b.add("neg", b.input("x"), id="m")
    b.add("sub", "m", "x", id="s")
    b.output("s", "o")
    return sketch(
        b.build(),
        spec,
        {"x": ("pe_0_1", 0), "m": ("pe_0_0", 1), "s": ("pe_1_1", 3), "o": ("pe_1_0", 4)},
        {
            "x->m": "pe_0_1.out@1 pe_0_1>pe_0_0@1 pe_0_0.in0@1",
            "m->s": "pe_0_0.out@2 pe_0_0>pe_1_0@2 pe_1_0>pe_1_1@3 pe_1_1.in0@3",
            "x->s": ("pe_0_1.out@1 pe_0_1>pe_1_1@1 pe_1_1.in1@1", 2),
            "s->o": "pe_1_1.out@4 pe_1_1>pe_1_0@4 pe_1_0.in0@4",
        },
    )


def scale_graph(length: int = 64) -> Dfg:
    """``b[i] = a[i] * k`` with the counter in the loop."""
    b = DfgBuilder("scale", "i32")
    b.array("a", length)
    b.array("b", length)
    b.livein("k")
    b.add("add", id="i")
    b.carry("i", "i", operand=0, initial=[-1])
    b.edges.append(Edge(source=b.const(1, id="one"), target="i", operand=1))
    b.load("a", "i", id="v")
    b.add("mul", "v", "k", id="w")
    b.store("b", "i", "w", id="st")
    return b.build()


def torus(spec: str = "torus:2x2,regs=2", length: int = 64) -> Mapping:
    """II 2. The store needs i at cycle 3, when i's output register holds the next i already.

    So pe_1_0 moves i at cycle 2 into its register r0. The counter reads itself two cycles after it issued: one hold
    in its output register. Load and store use the bus of their row in slot 1.
    """
    return sketch(
        scale_graph(length),
        spec,
        {"k": ("pe_1_1.r0", 0), "i": ("pe_0_0", 0), "v": ("pe_0_1", 1), "w": ("pe_1_1", 2), "st": ("pe_1_0", 3)},
        {
            "i->i": "pe_0_0.out@1 pe_0_0.out@2 pe_0_0.in0@2",
            "i->v": "pe_0_0.out@1 pe_0_0>pe_0_1@1 pe_0_1.in0@1",
            "v->w": "pe_0_1.out@2 pe_0_1>pe_1_1@2 pe_1_1.in0@2",
            "k->w": "pe_1_1.r0@2 pe_1_1.in1@2",
            "i->st": "pe_0_0.out@1 pe_0_0.out@2 pe_0_0>pe_1_0@2 pe_1_0.in0@2 pe_1_0.fu@2 pe_1_0.r0@3 pe_1_0.in0@3",
            "w->st": "pe_1_1.out@3 pe_1_1>pe_1_0@3 pe_1_0.in1@3",
        },
        ii=2,
    )


def held(spec: str = "torus:1x2,regs=2", *, until: int = 4, rotating: int = 2) -> Mapping:
    """II 3. A value that is kept in rotating registers of pe_0_0 from cycle 1 on, until it is read there.

    Written into r1 at 1, it is r0 from cycle 3, r1 again from 6: read at 4, it lived 3 cycles in slots that nobody else
    uses; at 7 it would meet its successor of the next iteration, which was written at cycle 1 + 2 * 3.
    """
    registers = {2: (1, 1, 0, 0, 0, 1, 1, 1, 0), 0: (1,) * 9}[rotating]
    dfg = Dfg(
        name="held",
        domain="opaque",
        nodes=(Node(id="a", op="make"), Node(id="b", op="use")),
        edges=(Edge(source="a", target="b"),),
    )
    way = [f"pe_0_0.r{registers[cycle - 1]}@{cycle}" for cycle in range(1, until + 1)]
    return sketch(
        dfg,
        spec,
        {"a": ("pe_0_0", 0), "b": ("pe_0_0", until)},
        {"a->b": " ".join([*way, f"pe_0_0.in0@{until}"])},
        ii=3,
        settings={"rotating": {"pe_0_0": rotating}},
    )


def spilled(spec: str = "torus:2x2,regs=0", *, reload: int = 6) -> Mapping:
    """II 3. a's value goes through the data memory: stored at 1 on pe_0_0, loaded on pe_1_1, read there by b."""
    dfg = Dfg(
        name="spilled",
        domain="opaque",
        nodes=(Node(id="a", op="make"), Node(id="b", op="use")),
        edges=(Edge(source="a", target="b"),),
    )
    kept = " ".join(f"mem@{cycle}" for cycle in range(2, reload + 1))
    way = f"pe_0_0.out@1 pe_0_0.in0@1 pe_0_0.store@1 {kept} pe_1_1.load@{reload} pe_1_1.out@{reload + 1}"
    return sketch(
        dfg,
        spec,
        {"a": ("pe_0_0", 0), "b": ("pe_1_1", reload + 1)},
        {"a->b": f"{way} pe_1_1.in0@{reload + 1}"},
        ii=3,
    )


def vpcma(spec: str = "vpcma:rows=4,cols=3,constants=8") -> Mapping:
    """Three rows, both boundaries between them registered: s at 0, m at 1, t and the output at 2."""
    b = DfgBuilder("rows", "cma24")
    b.add("add", b.input("x"), b.input("y"), id="s")
    b.add("mult", "s", b.const(3, id="c"), id="m")
    b.add("sub", "m", "s", id="t")
    b.output("t", "o")
    return sketch(
        b.build(),
        spec,
        {
            "x": ("load_0", 0), "y": ("load_1", 0), "c": ("const_1", 0),
            "s": ("pe_0_0", 0), "m": ("pe_1_0", 1), "t": ("pe_2_0", 2), "o": ("store_0", 2),
        },
        {
            "x->s": "load_0.out@0 pe_0_0.in0@0",
            "y->s": "load_1.out@0 pe_0_1.w@0 pe_0_0.in1@0",
            "s->m": "pe_0_0.out@0 pe_1_0.in0@1",
            "c->m": "const_1.fu@1 pe_1_0.in1@1",
            "m->t": "pe_1_0.out@1 pe_2_0.in0@2",
            "s->t": "pe_0_0.out@0 pe_0_0.n@0 pe_1_0.n@1 pe_2_0.in1@2",
            "t->o": "pe_2_0.out@2 pe_2_0.s@2 pe_1_0.s@2 pe_0_0.s@2 store_0.in0@2",
        },
        settings={"pipeline": [1, 1, 0]},
    )  # fmt: skip


def streaming(spec: str = "streaming-engine:4,spokes=4", ii: int = 2) -> Mapping:
    """a on t_0 is ready at 3; b on t_1 issues at 4; c on t_2 gets a at 5 and b at 8: a waits 3 cycles there."""
    b = DfgBuilder("stream", "i32")
    b.add("mul", b.input("x"), b.livein("k"), id="a")
    b.add("add", "a", b.const(1), id="b")
    b.add("sub", "b", "a", id="c")
    b.output("c", "o")
    return sketch(
        b.build(),
        spec,
        {"a": ("t_0", 0), "b": ("t_1", 4), "c": ("t_2", 8)},
        {
            "a->b": "t_0.out@3 t_0>t_1@3 t_1.in0@4",
            "b->c": "t_1.out@7 t_1>t_2@7 t_2.in0@8",
            "a->c": ("t_0.out@3 t_0>t_2@3 t_2.in1@5", 3),
        },
        ii=ii,
    )


def rdu(spec: str = "rdu:2x2") -> Mapping:
    """Two stages on compute units at opposite corners of a switch."""
    b = DfgBuilder("stages", "tensor")
    b.add("gemm", b.input("x"), id="g")
    b.add("elementwise", "g", id="e")
    b.output("e", "o")
    return sketch(
        b.build(),
        spec,
        {"x": ("dram_left_0", 0), "g": ("cu_0_0", 0), "e": ("cu_1_1", 0), "o": ("dram_right_0", 0)},
        {
            "x->g": "dram_left_0.out dram_left_0>sw_0_0 sw_0_0>cu_0_0 cu_0_0.in0",
            "g->e": "cu_0_0.out cu_0_0>sw_1_1 sw_1_1>cu_1_1 cu_1_1.in0",
            "e->o": "cu_1_1.out cu_1_1>sw_1_2 sw_1_2>dram_right_0 dram_right_0.in0",
        },
    )


def reconvergent(*, gather: int = 16, fifo: int = 8, spread: int = 8) -> Mapping:
    """x goes to e directly and through a memory unit, which waits for ``gather`` tokens and hands on ``spread``.

    e takes ``gather / spread`` of x for each of b's, out of a FIFO of ``fifo``: with less than ``gather`` room, x stops
    before b has what it waits for.
    """
    dfg = UnitGraph(
        name="reconvergent",
        nodes=(UnitNode(id="x", op="input"), UnitNode(id="b", op="buffer"), UnitNode(id="e", op="elementwise")),
        edges=(
            TokenEdge(source="x", target="b", tokens=1, takes=gather),
            TokenEdge(source="b", target="e", tokens=spread, takes=1),
            TokenEdge(source="x", target="e", operand=1, tokens=1, takes=gather // spread),
        ),
    )
    return sketch(
        dfg,
        f"rdu:2x2,fifo={fifo}",
        {"x": ("dram_left_0", 0), "b": ("mu_0_1", 0), "e": ("cu_1_1", 0)},
        {
            "x->b": "dram_left_0.out dram_left_0>sw_0_0 sw_0_0>sw_0_1 sw_0_1>mu_0_1 mu_0_1.in0",
            "b->e": "mu_0_1.out mu_0_1>sw_1_1 sw_1_1>cu_1_1 cu_1_1.in0",
            "x->e": "dram_left_0.out dram_left_0>sw_1_0 sw_1_0>sw_1_1 sw_1_1>cu_1_1 cu_1_1.in1",
        },
    )


LEGAL: dict[str, Any] = {
    "mesh": mesh,
    "torus": torus,
    "held": held,
    "spilled": spilled,
    "vpcma": vpcma,
    "streaming": streaming,
    "rdu": rdu,
}
