"""Fronts, steps and best arrays over made-up figures: what must hold for every set of points."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gridloom.archs import build
from gridloom.explore import array_yaml, best_arrays, explain_empty, front, parse_space, sensitivity
from gridloom.explore.page import html_page
from gridloom.explore.points import Evaluated, figures
from gridloom.explore.search import Exploration

SPACE = parse_space(
    """
explore: made-up
kernels: ["kernel:fir"]
array: "{topology}:4x4,fifo={fifo}"
parameters: {topology: [mesh, chess], fifo: [0, 1, 2]}
objectives: [mapped, area]
constraints: ["area <= 100"]
""",
    "made-up",
)


def exploration(values: list[tuple[float, float]]) -> Exploration:
    points = []
    for point, (mapped, area) in zip(SPACE.grid(), values):
        excess = tuple(limit.excess(area) for limit in SPACE.limits)
        points.append(Evaluated(point, {"mapped": mapped, "area": area}, excess, ()))
    return Exploration(space=SPACE, kernels=("kernel:fir",), points=points, jobs=len(points))


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(1, 150)), min_size=1, max_size=6))
def test_a_front_is_all_that_is_not_beaten_and_nothing_else(values: list[tuple[float, float]]) -> None:
    found = exploration(values)
    best = front(found.points, ("mapped", "area"))
    feasible = [one for one in found.points if one.feasible]
    for one in feasible:
        beaten = any(
            other.figures["mapped"] >= one.figures["mapped"]
            and other.figures["area"] <= one.figures["area"]
            and other.figures != one.figures
            for other in feasible
        )
        assert (one in best) == (not beaten)
    assert all(one.feasible for one in best)
    areas = [one.figures["area"] for one in best]
    assert areas == sorted(areas, reverse=True)


def test_steps_compare_points_that_differ_in_one_parameter() -> None:
    found = exploration([(0.5, 10), (1.0, 11), (1.0, 22), (0.5, 20), (1.0, 22), (1.0, 44)])
    steps = {(step.parameter, step.before): step for step in sensitivity(found)}
    assert set(steps) == {("topology", "mesh"), ("fifo", 0), ("fifo", 1)}
    assert steps["fifo", 0].pairs == 2
    assert steps["fifo", 0].sentence() == "fifo 0 -> 1: 50 % more kernels mapped, area +10 %"
    assert steps["fifo", 1].sentence() == "fifo 1 -> 2: area +100 %"
    assert steps["topology", "mesh"].sentence() == "topology mesh -> chess: area +100 %"


def test_an_empty_front_is_explained() -> None:
    assert explain_empty(exploration([(1.0, 200)])) == "No array meets every constraint."
    unknown = exploration([(1.0, 20), (0.5, 10)])
    for one in unknown.points:
        one.figures["area"] = None
    assert front(unknown.points, ("mapped", "area")) == []
    assert explain_empty(unknown) == "No array has a figure for area."
    page = html_page(unknown, "gridloom explore made-up.yaml")
    assert "No array meets" not in page and "No array has a figure for area." in page


def test_ties_go_to_the_smaller_array_and_its_yaml_builds_it(tmp_path) -> None:
    found = exploration([(0.5, 10), (1.0, 30), (1.0, 20), (1.0, 200), (0.0, 5), (1.0, 25)])
    best = best_arrays(found)
    assert best["mapped"].point.array == "mesh:4x4,fifo=2"
    assert best["area"].point.array == "chess:4x4,fifo=1"
    file = tmp_path / "best.yaml"
    file.write_text(array_yaml(best["mapped"]))
    assert build(file).fingerprint == build("mesh:4x4,fifo=2").fingerprint


def test_nothing_is_best_where_no_constraint_is_kept() -> None:
    found = exploration([(1.0, 101), (1.0, 200)])
    assert best_arrays(found) == {}
    assert front(found.points, SPACE.objectives) == []


def test_figures_are_over_the_kernels_that_map() -> None:
    row = {"status": "mapped", "ii": 2, "throughput": None, "period": None, "latency": 8, "wirelength": 4,
           "buffers": {"max": 3, "total": 5}, "occupancy": 0.5}  # fmt: skip
    other = {**row, "ii": 8, "latency": 2, "buffers": {"max": 1, "total": 1}, "wirelength": 6}
    found = figures([row, other, {"status": "failed"}], None, iterations=11, asked=4)
    assert found["mapped"] == 0.5
    assert found["ii"] == 4
    assert found["latency"] == 4
    assert found["throughput"] == 0.25
    assert (found["fifo_max"], found["fifo_total"], found["wirelength"]) == (3, 3, 5)
    assert found["cycles"] is not None
    assert abs(found["cycles"] - (28 * 82) ** 0.5) < 1e-9
    assert found["area"] is None
    assert found["energy"] is None
