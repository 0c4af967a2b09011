"""What claims share: grids of questions, tables by groups, sentences about rivals."""

from __future__ import annotations

from benchmarks import cells

ROWS = [
    {"mapper": "a", "source": f"g{k}", "arch": "x", "seed": 1, "status": "mapped", "ii": 2, "mii": 2} for k in range(9)
] + [
    {"mapper": "b", "source": f"g{k}", "arch": "x", "seed": 1, "status": "failed" if k == 0 else "mapped",
     "ii": None if k == 0 else 4, "mii": 2}
    for k in range(9)
]  # fmt: skip


def test_questions_are_all_combinations() -> None:
    assert cells.questions(a=[1, 2], b="x", c=(3, 4))[1] == {"a": 1, "b": "x", "c": 4}
    assert len(cells.questions(a=[1, 2], b="x", c=(3, 4))) == 4


def test_some_values_are_spread_over_all() -> None:
    assert cells.first_of(range(10), 3, True) == [0, 3, 6]
    assert cells.first_of(range(3), 5, True) == [0, 1, 2]
    assert cells.first_of(range(4), 2, False) == [0, 1, 2, 3]


def test_a_table_has_a_line_for_each_group() -> None:
    table = cells.table_by("mapper", mapped=cells.mapped_of, MII_over_II=cells.over_mii)(ROWS)
    assert table == [
        {"mapper": "a", "mapped": "9 of 9", "MII over II": 1.0},
        {"mapper": "b", "mapped": "8 of 9", "MII over II": 0.5},
    ]


def test_a_rival_that_does_not_map_a_cell_loses_it() -> None:
    assert cells.rivals("ii")(ROWS)[0].startswith("ii: a is ahead of b: 9 wins, 0 ties, 0 losses")


def test_a_cell_is_mapped_checked_and_digested() -> None:
    asked = {"source": "kernel:vector_add", "arch": "mesh:auto", "mapper": "anneal", "effort": 1000, "seed": 1}
    found = cells.map_cell(asked)
    assert (found["status"], found["tiles"], found["fifo"]) == ("mapped", 4, 0)
    assert found == cells.map_cell(asked)
