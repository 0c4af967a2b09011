"""MII: demands on tiles and pools, recurrences."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gridloom.archs import build
from gridloom.dfg import Dfg, DfgBuilder, Edge, Node
from gridloom.mapping.mii import mii


def ops(**counts: int) -> Dfg:
    nodes = tuple(Node(id=f"{op}{k}", op=op, value=k) for op, count in counts.items() for k in range(count))
    return Dfg(name="ops", domain="opaque", nodes=nodes)


@pytest.mark.parametrize(("count", "expected"), [(1, 1), (4, 1), (5, 2), (8, 2), (9, 3)])
def test_ops_share_all_tiles(count: int, expected: int):
    assert mii(ops(add=count), build("torus:2x2")).res == expected


def test_rare_class_bounds_the_ii():
    # Two of four tiles multiply: five products need three slots there, though seven ops need two on four tiles.
    bound = mii(ops(mul=5, add=2), build("torus:2x2,mul=checkerboard"))
    assert (bound.res, bound.explanations) == (3, ("mul take 5 slots on 2 tiles",))


def test_two_classes_on_the_same_few_tiles_add_up():
    # mul and mem each fit their two tiles at II 2; together they need II 4 there.
    two = {"tiles": [[0, 0], [1, 1]]}
    arch = build({"family": "torus", "rows": 2, "cols": 2, "mul": two, "memory": two, "bus": None})
    bound = mii(ops(mul=4, load=4), arch)
    assert (bound.res, bound.explanations) == (4, ("mem + mul take 8 slots on 2 tiles",))


def test_union_of_classes_with_different_tiles():
    # mul on column 0, mem on column 1: four of each at II 2; ten of both need ceil(10 / 4) only.
    arch = build(
        {
            "family": "torus", "rows": 2, "cols": 2, "bus": None,
            "mul": {"tiles": [[0, 0], [1, 0]]}, "memory": {"tiles": [[0, 1], [1, 1]]},
        }
    )  # fmt: skip
    assert mii(ops(mul=4, load=4), arch).res == 2
    assert mii(ops(mul=4, load=4, add=2), arch).res == 3


def matched(wanted: list[str], tiles: list[frozenset[str]], ii: int) -> bool:
    """Whether every op finds a slot of its own on a tile with its class: augmenting paths, without any bound."""
    owner: dict[tuple[int, int], int] = {}

    def place(op: int, tried: set[tuple[int, int]]) -> bool:
        for slot in ((t, c) for t, classes in enumerate(tiles) if wanted[op] in classes for c in range(ii)):
            if slot not in tried:
                tried.add(slot)
                if slot not in owner or place(owner[slot], tried):
                    owner[slot] = op
                    return True
        return False

    return all(place(op, set()) for op in range(len(wanted)))


@given(
    counts=st.tuples(*[st.integers(0, 5)] * 3),
    tiles=st.lists(st.frozensets(st.sampled_from(["alu", "mul", "mem"])), min_size=4, max_size=4),
)
def test_res_mii_is_the_least_ii_at_which_ops_and_slots_match(counts: tuple[int, ...], tiles: list[frozenset[str]]):
    wanted = [name for name, count in zip(("alu", "mul", "mem"), counts, strict=True) for _ in range(count)]
    assume(wanted and set(wanted) <= frozenset[str]().union(*tiles))
    plain = build({"family": "torus", "rows": 2, "cols": 2, "bus": None})
    arch = replace(plain, tiles=tuple(replace(t, classes=c) for t, c in zip(plain.tiles, tiles, strict=True)))
    least = next(ii for ii in range(1, len(wanted) + 2) if matched(wanted, tiles, ii))
    assert mii(ops(add=counts[0], mul=counts[1], load=counts[2]), arch).res == least


def test_row_buses_bound_memory_ops():
    bound = mii(ops(load=5), build("torus:2x2"))
    assert (bound.res, bound.explanations) == (3, ("mem ops need 5 of 2 bus cycles per slot",))
    assert mii(ops(load=5), build("torus:2x2,bus=dedicated")).res == 2


def test_occupancy_counts():
    arch = build("torus:2x2")
    slow = replace(arch, tiles=tuple(replace(tile, occupancy={"*": 1, "mul": 4}) for tile in arch.tiles))
    # One op alone keeps its tile for four cycles of each iteration; five of them need two slots of that length.
    assert mii(ops(mul=3), slow).res == 4
    assert mii(ops(mul=5), slow).res == 5


def test_free_nodes_and_kept_live_ins_take_no_tile():
    assert mii(ops(const=9, livein=9, add=1), build("torus:2x2")).res == 1
    assert mii(ops(input=9, output=9, add=1), build("streaming-engine:2")).res == 1
    assert mii(ops(livein=9, add=1), build("vpcma:rows=2,cols=2,constants=4")).res == 3


def test_class_that_nobody_has_is_missing():
    assert mii(ops(input=1), build("torus:2x2")).missing == ("input",)


@pytest.mark.parametrize(("arch", "expected"), [("torus:2x2", 2), ("streaming-engine:4", 6), ("mesh:2x2", 2)])
def test_recurrence_takes_the_latency_of_the_array(arch: str, expected: int):
    dfg = Dfg(
        name="loop",
        domain="opaque",
        nodes=(Node(id="a", op="f"), Node(id="b", op="f")),
        edges=(Edge(source="a", target="b"), Edge(source="b", target="a", distance=1)),
    )
    bound = mii(dfg, build(arch))
    assert (bound.rec, bound.total, bound.explanations) == (expected, expected, (f"recurrences need II {expected}",))


def test_least_latency_of_any_tile_counts():
    arch = build("torus:2x2")
    mixed = replace(arch, tiles=(*(replace(t, latency={"*": 5}) for t in arch.tiles[:3]), arch.tiles[3]))
    b = DfgBuilder("acc", "i32")
    b.add("add", id="s")
    b.carry("s", "s", operand=0)
    b.edges.append(Edge(source=b.const(1), target="s", operand=1))
    assert mii(b.build(), mixed).rec == 1


def _scaled(count: int) -> Dfg:
    """``count`` sums of one load and a live-in each."""
    b = DfgBuilder("scaled")
    b.array("x", 8)
    value = b.load("x", b.const(0))
    for k in range(count):
        b.add("add", value, b.livein(f"w{k}"))
    return b.build()


def test_live_ins_beyond_the_registers_are_loaded_over_the_buses() -> None:
    # Two rows with a bus each: one load of the graph, and one for each of six live-ins that have no register.
    bound = mii(_scaled(10), build("torus:2x2,regs=1"))
    assert bound.res == 5
    bound = mii(_scaled(10), build("torus:2x4,regs=0"))
    assert (bound.res, bound.explanations) == (
        6,
        (
            "mem ops need 11 of 2 bus cycles per slot",
            "the registers have no room for 10 of the live-ins, which are loaded in every iteration",
        ),
    )


def test_live_ins_that_registers_keep_cost_nothing() -> None:
    assert mii(_scaled(10), build("torus:2x4,regs=2")).res == 2


def test_without_memory_live_ins_do_not_count() -> None:
    assert mii(ops(livein=9, add=2), build("torus:2x2,regs=1,memory=none")).res == 1
