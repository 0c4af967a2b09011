"""LUTs and clock by the models that are fitted to placed arrays."""

from __future__ import annotations

import pytest

from gridloom.archs.spec import build
from gridloom.explore.clock import clock, held_out, run_array, runs
from gridloom.explore.hardware import cost, hardware_of


def test_every_family_of_the_grids_is_among_the_runs() -> None:
    families = {row["array"].partition(":")[0] for row in runs()}
    assert families >= {"mesh", "torus", "chess", "onehop", "hex"}


def test_families_left_out_of_the_fit_are_predicted_better_than_by_simple_rules() -> None:
    errors = held_out()
    assert errors.luts < errors.rival_luts
    assert errors.mhz < errors.rival_mhz
    assert errors.luts < 0.10
    assert errors.mhz < 0.15


def test_the_model_gives_back_the_runs_it_was_fitted_to() -> None:
    for row in runs():
        found = clock(hardware_of(run_array(row["array"], int(row["cycles"])), int(row["width"])))
        assert found is not None
        assert found.luts == pytest.approx(float(row["luts"]), rel=0.25)
        assert found.mhz == pytest.approx(float(row["fmax_mhz"]), rel=0.35)


def test_larger_arrays_take_more_luts_and_a_slower_clock() -> None:
    small, large = (clock(hardware_of(build(f"mesh:{n}x{n},fifo=2"), 16)) for n in (2, 4))
    assert small is not None
    assert large is not None
    assert small.luts < large.luts
    assert small.mhz > large.mhz


def test_a_register_before_the_function_units_gives_a_faster_clock() -> None:
    plain, late = (clock(hardware_of(run_array("mesh:2x2,fifo=2", cycles), 16)) for cycles in (1, 2))
    assert plain is not None
    assert late is not None
    assert late.mhz > plain.mhz


@pytest.mark.parametrize("array", ["hycube:2x2", "vpcma:4x6", "torus:2x2,file=central,regs=4", "mesh:2x2,link=1"])
def test_arrays_unlike_those_that_were_placed_have_no_clock(array: str) -> None:
    assert clock(hardware_of(build(array), 16 if not array.startswith("vpcma") else 24)) is None
    price = cost(build(array))
    assert price is not None
    assert (price.luts, price.mhz) == (None, None)
