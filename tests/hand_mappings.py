"""Mappings written by hand, one or two a family, with cycles and values derived in the comments.

They are the ground truth of the model: `verify` and `sim` have to agree with these derivations, no mapper is involved.
Each function in LEGAL returns a legal Mapping.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from gridloom.archs import build
from gridloom.dfg import DfgBuilder
from gridloom.dfg.model import Dfg
from gridloom.mapping import Instance, Mapping, Route
from gridloom.targets.dataflow.program.model import TokenEdge

Place = tuple[str, int]


def make(
    dfg: Dfg,
    arch: str,
    ii: int,
    places: dict[str, Place],
    routes: dict[tuple[str, str, int], tuple[Sequence[tuple[str, int]], int]],
    settings: dict[str, object] | None = None,
) -> Mapping:
    """A Mapping from {node: (tile, cycle)} and {(source, target, operand): (hops, fifo)}."""
    number = {(e.source, e.target, e.operand): k for k, e in enumerate(dfg.edges)}
    return Mapping(
        dfg=dfg,
        arch=build(arch),
        ii=ii,
        settings=settings or {},
        instances=tuple(Instance(node=node, place=tile, cycle=cycle) for node, (tile, cycle) in places.items()),
        routes=tuple(Route(edge=number[key], hops=tuple(hops), fifo=fifo) for key, (hops, fifo) in routes.items()),
    )


# -- static grids: a diamond whose two arms differ in length ---------------------------------------------------------


def diamond() -> Dfg:
    """a -> b -> d, a -> c -> d, d -> y: with b = a + 1, c = 3 a the result is y = 4 a + 1."""
    b = DfgBuilder("diamond")
    a = b.input("a")
    b.add("add", a, b.const(1), id="b")
    b.add("mul", a, b.const(3), id="c")
    b.add("add", "b", "c", id="d")
    b.output("d", "y")
    return b.build()


def _diamond_on_mesh(issue_b: int, fifo_b: int, fifo_d: int) -> Mapping:
    # Array 2 x 3:      (0,0) a   (0,1) y   (0,2) -
    #                   (1,0) b   (1,1) d   (1,2) c
    # a -> c takes three hops over (0,1), (0,2): wire cost 2, all other edges are local: lw = tw = 2.
    # a issues at 0, is in its output register at 1. b sees it at 1. Two tiles passed through: c sees it at 3.
    # c issues at 3, d sees it at 4. b's result would be at d by 2: two cycles too early.
    return make(
        diamond(),
        "mesh:2x3",
        1,
        {"a": ("pe_0_0", 0), "b": ("pe_1_0", issue_b), "c": ("pe_1_2", 3), "d": ("pe_1_1", 4), "y": ("pe_0_1", 5)},
        {
            ("a", "b", 0): ([("pe_0_0.out", 1), ("pe_0_0>pe_1_0", 1), ("pe_1_0.in0", 1)], fifo_b),
            ("a", "c", 0): (
                [
                    ("pe_0_0.out", 1),
                    ("pe_0_0>pe_0_1", 1),
                    ("pe_0_1>pe_0_2", 2),
                    ("pe_0_2>pe_1_2", 3),
                    ("pe_1_2.in0", 3),
                ],
                0,
            ),
            ("b", "d", 0): (
                [("pe_1_0.out", issue_b + 1), ("pe_1_0>pe_1_1", issue_b + 1), ("pe_1_1.in0", issue_b + 1)],
                fifo_d,
            ),
            ("c", "d", 1): ([("pe_1_2.out", 4), ("pe_1_2>pe_1_1", 4), ("pe_1_1.in1", 4)], 0),
            ("d", "y", 0): ([("pe_1_1.out", 5), ("pe_1_1>pe_0_1", 5), ("pe_0_1.in0", 5)], 0),
        },
    )


def mesh_fifo_2() -> Mapping:
    """The mismatch of two cycles made up by one FIFO of 2 at d."""
    return _diamond_on_mesh(issue_b=1, fifo_b=0, fifo_d=2)


def mesh_fifo_split() -> Mapping:
    """The same two cycles split 1 + 1 along a -> b -> d: b waits one cycle, so does its result at d."""
    return _diamond_on_mesh(issue_b=2, fifo_b=1, fifo_d=1)


def mesh_unbalanced() -> Mapping:
    """The same placement without FIFOs: not legal, and its values are wrong."""
    return _diamond_on_mesh(issue_b=1, fifo_b=0, fifo_d=0)


def mesh_local() -> Mapping:
    """The optimum: a square of neighbours, no wire longer than a link, no FIFO."""
    #   (0,0) a  (0,1) b  (0,2) y ... d is next to y: y sits at (1,2)
    #   (1,0) c  (1,1) d  (1,2) y
    return make(
        diamond(),
        "mesh:2x3",
        1,
        {"a": ("pe_0_0", 0), "b": ("pe_0_1", 1), "c": ("pe_1_0", 1), "d": ("pe_1_1", 2), "y": ("pe_1_2", 3)},
        {
            ("a", "b", 0): ([("pe_0_0.out", 1), ("pe_0_0>pe_0_1", 1), ("pe_0_1.in0", 1)], 0),
            ("a", "c", 0): ([("pe_0_0.out", 1), ("pe_0_0>pe_1_0", 1), ("pe_1_0.in0", 1)], 0),
            ("b", "d", 0): ([("pe_0_1.out", 2), ("pe_0_1>pe_1_1", 2), ("pe_1_1.in0", 2)], 0),
            ("c", "d", 1): ([("pe_1_0.out", 2), ("pe_1_0>pe_1_1", 2), ("pe_1_1.in1", 2)], 0),
            ("d", "y", 0): ([("pe_1_1.out", 3), ("pe_1_1>pe_1_2", 3), ("pe_1_2.in0", 3)], 0),
        },
    )


# -- torus: II 2 with a rotating register, and a value handed from one register file to another ----------------------


def torus_rotating() -> Mapping:
    """Four ops on two PEs at II 2; b of two iterations ago comes back to a through rotating registers."""
    # a(i) = b(i-2) + 1, b = 3 a, c = a + 7, d = b ^ c. First two values of the recurrence: 10 and 20.
    # PE 0: a at 0, b at 1.  PE 1: c at 1, d at 2 (slot 0).
    # b issues at 1, its result exists from 2 on. a of two iterations later issues at 0 + 2 * 2 = 4, so the value
    # lives in
    # cycles 2, 3, 4: longer than II. Written as r1 in slot 0 it is r1 in slot 1 and, turned once, r0 in the next slot
    # 0.
    b = DfgBuilder("recurrence_2")
    b.add("add", id="a")
    b.edges.append(_edge("b", "a", 0, distance=2, initial=(10, 20)))
    b.edges.append(_edge(b.const(1), "a", 1))
    b.add("mul", "a", b.const(3), id="b")
    b.add("add", "a", b.const(7), id="c")
    b.add("xor", "b", "c", id="d", liveout="d")
    return make(
        b.build(),
        "torus:1x2,regs=2",
        2,
        {"a": ("pe_0_0", 0), "b": ("pe_0_0", 1), "c": ("pe_0_1", 1), "d": ("pe_0_1", 2)},
        {
            ("b", "a", 0): ([("pe_0_0.r1", 2), ("pe_0_0.r1", 3), ("pe_0_0.r0", 4), ("pe_0_0.in0", 4)], 0),
            ("a", "b", 0): ([("pe_0_0.out", 1), ("pe_0_0.in0", 1)], 0),
            ("a", "c", 0): ([("pe_0_0.out", 1), ("pe_0_0>pe_0_1", 1), ("pe_0_1.in0", 1)], 0),
            ("b", "d", 0): ([("pe_0_0.out", 2), ("pe_0_0>pe_0_1", 2), ("pe_0_1.in0", 2)], 0),
            ("c", "d", 1): ([("pe_0_1.out", 2), ("pe_0_1.in1", 2)], 0),
        },
        {"rotating": {"pe_0_0": 2}},
    )


def torus_register_transfer() -> Mapping:
    """Five ops in a ring of distance 2 at II 5; the value rests in PE 0's only register, then in PE 1's."""
    # a(i) = e(i-2) + 1, b = 3 a, c = b - 7, d = c + 11, e = d ^ 5. First two values: 3 and 5.
    # PE 1: a at 0, b at 1, c at 2.  PE 0: d at 3, e at 4. e's result exists from 5 on; a needs it at 0 + 5 * 2 = 10.
    # One register a file cannot hold six cycles at II 5 (cycles 5 and 10 share slot 0). So: PE 0's register in cycles
    # 5, 6, 7; read and sent on by a move of PE 0 at 7 (slot 2); a move of PE 1 at 8 (slot 3) writes PE 1's register,
    # which holds it in cycles 9, 10.
    b = DfgBuilder("ring_of_five")
    b.add("add", id="a")
    b.edges.append(_edge("e", "a", 0, distance=2, initial=(3, 5)))
    b.edges.append(_edge(b.const(1), "a", 1))
    b.add("mul", "a", b.const(3), id="b")
    b.add("sub", "b", b.const(7), id="c")
    b.add("add", "c", b.const(11), id="d")
    b.add("xor", "d", b.const(5), id="e", liveout="e")
    return make(
        b.build(),
        "torus:1x2,regs=1",
        5,
        {"a": ("pe_0_1", 0), "b": ("pe_0_1", 1), "c": ("pe_0_1", 2), "d": ("pe_0_0", 3), "e": ("pe_0_0", 4)},
        {
            ("a", "b", 0): ([("pe_0_1.out", 1), ("pe_0_1.in0", 1)], 0),
            ("b", "c", 0): ([("pe_0_1.out", 2), ("pe_0_1.in0", 2)], 0),
            ("c", "d", 0): ([("pe_0_1.out", 3), ("pe_0_1>pe_0_0", 3), ("pe_0_0.in0", 3)], 0),
            ("d", "e", 0): ([("pe_0_0.out", 4), ("pe_0_0.in0", 4)], 0),
            ("e", "a", 0): (
                [
                    ("pe_0_0.r0", 5), ("pe_0_0.r0", 6), ("pe_0_0.r0", 7), ("pe_0_0.in0", 7), ("pe_0_0.fu", 7),
                    ("pe_0_0.out", 8), ("pe_0_0>pe_0_1", 8), ("pe_0_1.in0", 8), ("pe_0_1.fu", 8),
                    ("pe_0_1.r0", 9), ("pe_0_1.r0", 10), ("pe_0_1.in0", 10),
                ],
                0,
            ),
        },
    )  # fmt: skip


def torus_spill() -> Mapping:
    """x[i] and its value three iterations ago, which waits in the data memory; the sum goes to y[i]."""
    # i(k) = i(k-1) + 1 from -1, x = X[i], s = x + x(k-3) with 100, 200, 300 at first, Y[i] = s. II 4 on 2 x 2, no
    # register file.
    # i at 0 on PE (0,0); x at 1 on PE (0,0); s at 2 on PE (0,1); store at 3 on PE (0,1).
    # x's result exists from 2 on. It is spilled by PE (0,0) at 2 (slot 2), is in memory from 3 on, loaded by PE (0,1)
    # at
    # 12 (slot 0: row 0's bus has x in slot 1, the spill in 2, the store in 3), is in PE (0,1)'s output register at 13
    # and
    # still at 14 = 2 + 4 * 3, when s of three iterations later issues.
    # i is in PE (0,0)'s output register at 1; x overwrites it at 2. The store on PE (0,1) needs i at 3: PE (1,0)
    # reads it
    # at 1 and passes it on at 2; PE (1,1) takes that at 2 and offers it at 3.
    # i itself needs its last value at 4: PE (1,0)'s output register holds i from 2 on, until 4.
    b = DfgBuilder("spilled")
    b.array("X", 80)
    b.array("Y", 80)
    b.add("add", id="i")
    b.edges.append(_edge("i", "i", 0, distance=1, initial=(-1,)))
    b.edges.append(_edge(b.const(1), "i", 1))
    b.load("X", "i", id="x")
    b.add("add", "x", id="s")
    b.edges.append(_edge("x", "s", 1, distance=3, initial=(100, 200, 300)))
    b.store("Y", "i", "s", id="w")
    return make(
        b.build(),
        "torus:2x2,regs=0",
        4,
        {"i": ("pe_0_0", 0), "x": ("pe_0_0", 1), "s": ("pe_0_1", 2), "w": ("pe_0_1", 3)},
        {
            ("i", "i", 0): (
                [
                    ("pe_0_0.out", 1), ("pe_0_0>pe_1_0", 1), ("pe_1_0.in0", 1), ("pe_1_0.fu", 1), ("pe_1_0.out", 2),
                    ("pe_1_0.out", 3), ("pe_1_0.out", 4), ("pe_1_0>pe_0_0", 4), ("pe_0_0.in0", 4),
                ],
                0,
            ),
            ("i", "x", 0): ([("pe_0_0.out", 1), ("pe_0_0.in0", 1)], 0),
            ("x", "s", 0): ([("pe_0_0.out", 2), ("pe_0_0>pe_0_1", 2), ("pe_0_1.in0", 2)], 0),
            ("x", "s", 1): (
                [
                    ("pe_0_0.out", 2), ("pe_0_0.in0", 2), ("pe_0_0.store", 2),
                    *[("mem", c) for c in range(3, 13)],
                    ("pe_0_1.load", 12), ("pe_0_1.out", 13), ("pe_0_1.out", 14), ("pe_0_1.in1", 14),
                ],
                0,
            ),
            ("i", "w", 0): (
                [
                    ("pe_0_0.out", 1), ("pe_0_0>pe_1_0", 1), ("pe_1_0.in0", 1), ("pe_1_0.fu", 1), ("pe_1_0.out", 2),
                    ("pe_1_0>pe_1_1", 2), ("pe_1_1.in0", 2), ("pe_1_1.fu", 2), ("pe_1_1.out", 3),
                    ("pe_1_1>pe_0_1", 3), ("pe_0_1.in0", 3),
                ],
                0,
            ),
            ("s", "w", 1): ([("pe_0_1.out", 3), ("pe_0_1.in1", 3)], 0),
        },
    )  # fmt: skip


# -- streaming engine: the squared distance, with the published slots ------------------------------------------------


def distance_graph() -> Dfg:
    """(x - x0)^2 + (y - y0)^2 + (z - z0)^2 in six instructions."""
    b = DfgBuilder("distance")
    for k, axis in enumerate("xyz"):
        b.add("sub", b.input(axis), b.livein(f"{axis}0"), id=f"n{k}")
    b.add("mul", "n0", "n0", id="n3")
    b.add("mul_add", "n1", "n1", "n3", id="n4")
    b.add("mul_add", "n2", "n2", "n4", id="n6")
    b.output("n6", "d")
    return b.build()


def streaming_engine_distance() -> Mapping:
    """Instruction 0 on spoke 0 of tile 3, instruction 3 on spoke 1 of tile 1, II 3."""
    # Results after 3 cycles; a tile at distance 1 or 2 gets them 1 or 2 cycles later.
    # n0 issues at 0 on tile 3: on tile 1 at 0 + 3 + 2 = 5. Spoke 1 comes round at 7 = 5 + ((1 - 5) mod 3): a wait of
    # 2.
    # n1 at 0 on tile 2, n4 on the same tile: n1 there at 3; n3 there at 7 + 3 + 1 = 11. Spoke 2: issue 11, n1 waits
    # 8.
    # n2 at 0 on tile 4, n6 on the same tile: n2 there at 3; n4 there at 11 + 3 + 2 = 16. Spoke 1: issue 16, n2 waits
    # 13.
    # Last result at 19.
    double = {k: [("t_3.out", 3), ("t_3>t_1", 3), (f"t_1.in{k}", 5)] for k in (0, 1)}
    return make(
        distance_graph(),
        "streaming-engine:16,spokes=6",
        3,
        {"n0": ("t_3", 0), "n1": ("t_2", 0), "n2": ("t_4", 0), "n3": ("t_1", 7), "n4": ("t_2", 11), "n6": ("t_4", 16)},
        {
            ("n0", "n3", 0): (double[0], 2),
            ("n0", "n3", 1): (double[1], 2),
            ("n1", "n4", 0): ([("t_2.out", 3), ("t_2.in0", 3)], 8),
            ("n1", "n4", 1): ([("t_2.out", 3), ("t_2.in1", 3)], 8),
            ("n3", "n4", 2): ([("t_1.out", 10), ("t_1>t_2", 10), ("t_2.in2", 11)], 0),
            ("n2", "n6", 0): ([("t_4.out", 3), ("t_4.in0", 3)], 13),
            ("n2", "n6", 1): ([("t_4.out", 3), ("t_4.in1", 3)], 13),
            ("n4", "n6", 2): ([("t_2.out", 14), ("t_2>t_4", 14), ("t_4.in2", 16)], 0),
        },
    )


# -- vpcma: three rows, two registered boundaries
# ---------------------------------------------------------------------


def vpcma_three_rows() -> Mapping:
    """((x + 5) * w) - 9 in rows 0, 1, 2 of column 0, with registers after rows 0 and 1."""
    # x comes in at load port 0, w at load port 1, both at cycle 0. Row 0: x + 5 at 0, registered: in row 1 at 1.
    # w runs up the N output of (row 0, column 1), is registered with it, and turns west in row 1: there at 1 as well.
    # Row 2 sees the product at 2 and subtracts constant 2. The result turns south in row 2, the last stage, and runs
    # down the S chain, which has no register: at the store port at 2 = the number of registered boundaries.
    b = DfgBuilder("three_rows", "cma24")
    b.add("add", b.input("x"), b.const(5), id="p")
    b.add("mult", "p", b.input("w"), id="q")
    b.add("sub", "q", b.const(9), id="r")
    b.output("r", "y")
    dfg = b.build()
    five, nine = (node.id for node in dfg.nodes if node.op == "const")
    return make(
        dfg,
        "vpcma",
        1,
        {
            "x": ("load_0", 0), "w": ("load_1", 0), five: ("const_0", 0), nine: ("const_2", 0),
            "p": ("pe_0_0", 0), "q": ("pe_1_0", 1), "r": ("pe_2_0", 2), "y": ("store_0", 2),
        },
        {
            ("x", "p", 0): ([("load_0.out", 0), ("pe_0_0.in0", 0)], 0),
            (five, "p", 1): ([("const_0.fu", 0), ("pe_0_0.in1", 0)], 0),
            ("p", "q", 0): ([("pe_0_0.out", 0), ("pe_1_0.in0", 1)], 0),
            ("w", "q", 1): ([("load_1.out", 0), ("pe_0_1.n", 0), ("pe_1_1.w", 1), ("pe_1_0.in1", 1)], 0),
            ("q", "r", 0): ([("pe_1_0.out", 1), ("pe_2_0.in0", 2)], 0),
            (nine, "r", 1): ([("const_2.fu", 2), ("pe_2_0.in1", 2)], 0),
            ("r", "y", 0): (
                [("pe_2_0.out", 2), ("pe_2_0.s", 2), ("pe_1_0.s", 2), ("pe_0_0.s", 2), ("store_0.in0", 2)],
                0,
            ),
        },
        {"pipeline": [1, 1, 0, 0, 0, 0, 0]},
    )  # fmt: skip


# -- rdu: a two-stage pipeline
# ------------------------------------------------------------------------------------------


def rdu_two_stages() -> Mapping:
    """DRAM -> gemm (8 cycles a firing) -> elementwise (5 cycles) -> DRAM, four vectors a firing on each edge."""
    # The DRAM channel of x gives a vector every 3 cycles, so the period is 12; the gemm is busy for 8 cycles of these.
    b = DfgBuilder("two_stages", "tensor")
    b.add("input", id="x", work=1)
    b.add("gemm", id="g", work=8)
    b.add("elementwise", id="v", work=5)
    b.add("output", id="y", work=1)
    for source, target in (("x", "g"), ("g", "v"), ("v", "y")):
        b.edges.append(TokenEdge(source=source, target=target, tokens=4))
    # Units: dram_left_0 - switches (0,0),(1,0) - cu_0_0 - switches (0,1),(1,1) - cu_1_1 ... dram_right_0 sits at
    # column 2.
    return make(
        b.build(),
        "rdu:2x2",
        1,
        {"x": ("dram_left_0", 0), "g": ("cu_0_0", 0), "v": ("cu_1_1", 0), "y": ("dram_right_0", 0)},
        {
            ("x", "g", 0): (_elastic("dram_left_0", "sw_0_0", "cu_0_0"), 0),
            ("g", "v", 0): (_elastic("cu_0_0", "sw_1_1", "cu_1_1"), 0),
            ("v", "y", 0): (_elastic("cu_1_1", "sw_1_2", "dram_right_0"), 0),
        },
    )


def _elastic(*tiles: str) -> list[tuple[str, int]]:
    """The hops of an elastic route over the named tiles; cycles mean nothing there."""
    links = [(f"{a}>{b}", 0) for a, b in pairwise(tiles)]
    return [(f"{tiles[0]}.out", 0), *links, (f"{tiles[-1]}.in0", 0)]


def _edge(source: str, target: str, operand: int, **fields: object):  # type: ignore[no-untyped-def]
    from gridloom.dfg import Edge

    return Edge(source=source, target=target, operand=operand, **fields)  # type: ignore[arg-type]


LEGAL = {
    "mesh_fifo_2": mesh_fifo_2,
    "mesh_fifo_split": mesh_fifo_split,
    "mesh_local": mesh_local,
    "torus_rotating": torus_rotating,
    "torus_register_transfer": torus_register_transfer,
    "torus_spill": torus_spill,
    "streaming_engine_distance": streaming_engine_distance,
    "vpcma_three_rows": vpcma_three_rows,
    "rdu_two_stages": rdu_two_stages,
}
