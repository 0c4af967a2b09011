"""Arrays in the order of what is expected of them: batches, corrections, and a search that maps a few of many."""

from __future__ import annotations

import numpy as np
import pytest

from gridloom.errors import OptionError
from gridloom.explore import explore, parse_space
from gridloom.explore.answers import front
from gridloom.explore.points import Evaluated, candidate
from gridloom.explore.ranking import Ranking, expected_row
from gridloom.explore.space import Space
from gridloom.run import ExecutorSpec

SPACE = """
explore: tori
kernels: ["kernel:dot_product", "kernel:iir"]
array: "torus:{rows}x{cols},regs={regs}"
parameters: {rows: [1, 2, 3], cols: [2, 3], regs: [0, 2, 4]}
budget: {effort: 1500}
objectives: [ii, tiles]
constraints: ["mapped == 1"]
"""


def space(more: str = "") -> Space:
    return parse_space(SPACE + more, "tori")


def ranking(costs: list[list[float]]) -> Ranking:
    """A ranking of arrays in a row with given costs; their objectives are those of the space."""
    places = np.linspace(0, 1, len(costs))[:, None]
    points = list(space().grid())[: len(costs)]
    return Ranking(space=space(), points=points, expected=np.log(np.array(costs)), places=places)


def found(ii: float | None, tiles: float) -> Evaluated:
    return Evaluated(next(iter(space().grid())), {"ii": ii, "tiles": tiles}, (), [])


def test_arrays_that_nothing_dominates_come_first() -> None:
    listed = ranking([[4, 4], [1, 9], [4, 2], [5, 10]])
    assert listed.next_batch(4) == [1, 2, 0, 3]
    assert listed.next_batch(1) == [1]


def test_what_is_found_is_not_asked_again_and_corrects_its_neighbours() -> None:
    listed = ranking([[4, 4], [4, 4], [4, 4], [4, 4], [4, 4]])
    listed.note(0, found(8, 4))
    said = np.exp(listed.corrected()[:, 0])
    assert said[0] == pytest.approx(8)
    assert 8 > said[1] > said[2] > said[4] >= 4
    assert listed.next_batch(5) == [4, 3, 2, 1]


def test_an_array_that_does_not_do_is_worse_than_all() -> None:
    listed = ranking([[4, 4], [4, 4]])
    listed.note(0, found(None, 4))
    assert listed.corrected()[0, 0] == 50


def test_rows_of_estimators_lie_between_the_bound_and_the_serial_schedule() -> None:
    point = next(one for one in space().grid() if one.values == {"rows": 2, "cols": 2, "regs": 4})
    row = expected_row("kernel:iir", candidate(space(), point))
    assert row["status"] == "mapped"
    assert 3 <= row["ii"] < 5
    assert row["chance"] == 1


def test_a_ranked_search_maps_a_part_and_finds_the_front() -> None:
    inline = ExecutorSpec(backend="inline")
    whole = explore(space(), executor=inline)
    some = explore(space("search: {method: ranked, points: 9, batch: 3}"), executor=inline)
    assert (len(whole.points), len(some.points), some.jobs) == (18, 9, 18)

    fronts = [{(one.figures["ii"], one.figures["tiles"]) for one in front(found.points, ("ii", "tiles"))}
              for found in (whole, some)]  # fmt: skip
    assert len(fronts[0]) > 1
    assert fronts[1] == fronts[0]


def test_weights_that_are_none_are_refused() -> None:
    asked = space("search: {method: ranked, points: 2}\nweights: missing.npz")
    with pytest.raises(OptionError, match="there are no weights here"):
        explore(asked, executor=ExecutorSpec(backend="inline"))
