"""The schedule of a run takes no more cycles than the host alone, and never more than all loops on the array."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gridloom.flow.functions.launching.configurations import Loads
from gridloom.flow.functions.launching.schedule import COMPARISON, NEVER, LaunchRow, LaunchSchedule, LoopCost, schedule


def row(loop: int, host: int, array: int, iterations: int = 1, nest: int = -1, refused: str = "") -> LaunchRow:
    return LaunchRow(loop, nest, iterations=iterations, array=array, host=host, refused=refused)


def cost(*, counted: bool = True, nest: bool = False, objects: str = "") -> LoopCost:
    return LoopCost(counted=counted, nest=nest, objects=frozenset(objects))


def planned(
    rows: list[LaunchRow], loops: list[LoopCost], words=None, load: int = 10, always: bool = False
) -> LaunchSchedule:
    return schedule(rows, loops, Loads.whole([load] * len(loops)), words or {}, always=always)


def total(rows: list[LaunchRow], loads: Loads, found: LaunchSchedule) -> int:
    """All cycles of the launches, counted one by one."""
    cycles, loaded = found.comparisons + found.movement, -1
    for k, (item, on_array) in enumerate(zip(rows, found.on_array)):
        inside = item.nest >= 0 and found.on_array[item.nest]
        if on_array:
            assert not inside, k
            cycles += item.array + loads.after(loaded, item.loop)
            loaded = item.loop
        elif not inside and not any(other.nest == k for other in rows):
            cycles += item.host
    return cycles


def test_a_loop_that_saves_its_configuration_is_on_the_array():
    found = planned([row(0, 30, 15)] * 2, [cost()], load=20)
    assert list(found.on_array) == [True, True] and found.thresholds == (0,)


def test_a_loop_that_does_not_save_its_configuration_is_on_the_host():
    found = planned([row(0, 30, 15)], [cost()], load=20)
    assert list(found.on_array) == [False] and found.thresholds == (NEVER,)


def test_data_is_moved_for_loops_on_the_array_only():
    rows, loops = [row(0, 300, 15), row(1, 300, 15)], [cost(objects="ab"), cost(objects="bc")]
    both = planned(rows, loops, {"a": 5, "b": 7, "c": 11})
    assert both.movement == 23 and both.objects == frozenset("abc")
    first = planned(rows, loops, {"a": 5, "b": 7, "c": 500})
    assert first.movement == 12 and list(first.on_array) == [True, False]


def test_loops_that_alternate_pay_for_their_configurations_and_one_of_them_stays():
    rows = [row(k % 2, 30, 15) for k in range(40)]
    found = planned(rows, [cost(), cost()], load=20)
    assert sum(found.on_array) == 20 and NEVER in found.thresholds


def test_a_counted_loop_is_launched_from_the_iterations_that_pay():
    rows = [row(0, 10 * n, 50 + n, iterations=n) for n in range(20)]
    found = planned(rows, [cost()])
    assert found.thresholds == (6,) and list(found.on_array) == [n >= 6 for n in range(20)]
    assert found.comparisons == COMPARISON * 20


def test_a_loop_with_early_exits_is_launched_always_or_never():
    rows = [row(0, 10 * n, 50 + n, iterations=n) for n in range(20)]
    found = planned(rows, [cost(counted=False)])
    assert found.thresholds == (0,) and found.comparisons == 0


def test_a_nest_replaces_the_launches_inside():
    rows = [row(0, 100, 20), row(1, 40, 15, nest=0), row(1, 40, 15, nest=0)]
    found = planned(rows, [cost(nest=True), cost()])
    assert list(found.on_array) == [True, False, False]


def test_always_puts_innermost_loops_on_the_array():
    rows = [row(0, 1, 20), row(1, 1, 15, nest=0), row(1, 1, 15, nest=0, refused="shared bytes")]
    found = planned(rows, [cost(nest=True), cost()], always=True)
    assert list(found.on_array) == [False, True, False]


def test_a_run_without_launches_has_an_empty_schedule():
    assert list(planned([], [cost()], {"a": 3}).on_array) == []


ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 200), st.integers(0, 200), st.integers(0, 9), st.booleans()),
    max_size=30,
)


LOADS = st.lists(st.integers(0, 100), min_size=3, max_size=3)


@given(ROWS, LOADS, st.lists(LOADS, min_size=3, max_size=3), st.integers(0, 100))
def test_a_schedule_is_as_good_as_the_host_alone_and_as_all_on_the_array(drawn, first, switch, words):
    rows = [row(loop, host, array, n, refused="no" if bad else "") for loop, host, array, n, bad in drawn]
    loads = Loads(tuple(first), tuple(tuple(0 if j == k else n for j, n in enumerate(r)) for k, r in enumerate(switch)))
    loops = [cost(objects="a", counted=k > 0) for k in range(3)]
    best = schedule(rows, loops, loads, {"a": words}, always=False)
    everything = schedule(rows, loops, loads, {"a": words}, always=True)
    assert total(rows, loads, best) <= total(rows, loads, everything)
    assert total(rows, loads, best) <= sum(item.host for item in rows)
