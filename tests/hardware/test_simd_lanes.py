"""Hardware with SIMD lanes: every lane computes what the simulator and the interpreter compute on its own streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.hardware.conftest import Cosimulate
from tests.hardware.test_cosimulation import strict
from tests.simd_cases import mapped, running_sum, table, widened

from gridloom.compiler.source import load_source
from gridloom.dfg.interpreter import Interpreter
from gridloom.errors import SimulationError
from gridloom.hardware.bitstream.encode import encode, fit_parameters
from gridloom.hardware.bitstream.packets import pack
from gridloom.hardware.cosimulation import Bench
from gridloom.hardware.rtl.structure import Hardware
from gridloom.mapping import Mapping
from gridloom.mapping.configuration import configure
from gridloom.sim.lanes import lane_stimuli
from gridloom.targets.streaming.fuse import fuse

tools = pytest.mark.tools


def kernel(name: str) -> Mapping:
    """A kernel on an engine of eight tiles with one lane."""
    return mapped(fuse(load_source(f"kernel:{name}")), "streaming-engine:8,spokes=6")


@tools
@pytest.mark.parametrize("simd", [64, 128])
@pytest.mark.parametrize("name", ["distance", "fir", "dot_product"])
def test_kernels_run_in_two_and_four_lanes(name: str, simd: int, cosimulate: Cosimulate) -> None:
    assert cosimulate(widened(kernel(name), simd)) == ()


@tools
@pytest.mark.parametrize("simd", [64, 128])
def test_lanes_have_memories_and_addresses_of_their_own(simd: int, cosimulate: Cosimulate) -> None:
    assert cosimulate(mapped(table(), f"streaming-engine:8,spokes=6,simd={simd}")) == ()


@tools
def test_live_ins_are_the_same_in_all_lanes(cosimulate: Cosimulate) -> None:
    assert cosimulate(mapped(running_sum(), "streaming-engine:2,spokes=3,simd=128")) == ()


@tools
def test_the_published_width_runs_in_sixteen_lanes(cosimulate: Cosimulate) -> None:
    assert cosimulate(mapped(running_sum(), "streaming-engine:2,spokes=3,simd=512")) == ()


@tools
@pytest.mark.slow
def test_a_kernel_runs_in_sixteen_lanes(cosimulate: Cosimulate) -> None:
    assert cosimulate(widened(kernel("distance"), 512)) == ()


@tools
@pytest.mark.parametrize("width", [8, 16, 64])
def test_lanes_of_other_elements_run_in_their_words(width: int, cosimulate: Cosimulate) -> None:
    assert cosimulate(mapped(running_sum(), "streaming-engine:2,spokes=3,simd=128"), width=width) == ()


@tools
@pytest.mark.slow
@pytest.mark.parametrize("width", [8, 16, 64])
def test_a_kernel_runs_in_lanes_of_other_elements(width: int, cosimulate: Cosimulate) -> None:
    assert cosimulate(widened(kernel("fir"), 128), width=width) == ()


@tools
def test_lanes_wait_together(cosimulate: Cosimulate) -> None:
    assert cosimulate(mapped(table(), "streaming-engine:8,spokes=6,simd=64"), stall=7) == ()


@tools
@pytest.mark.slow
@pytest.mark.parametrize("simd", [64, 128])
def test_random_mappings_run_in_every_lane(simd: int, cosimulate: Cosimulate) -> None:
    for number, mapping in enumerate(strict("engine", 8)):
        assert cosimulate(widened(mapping, simd), seed=number) == (), f"mapping {number}"


@tools
def test_an_error_in_one_lane_is_seen_there(bench_of: Callable[..., Bench]) -> None:
    mapping = mapped(running_sum(), "streaming-engine:2,spokes=3,simd=128")
    configuration = configure(mapping)
    drawn = lane_stimuli(Interpreter(mapping.dfg), 4, 6, 0)
    runs = bench_of(mapping).run_lanes(configuration, [stimulus for stimulus, _ in drawn])
    shown = [run.observation.outputs["y"].tolist() for run in runs]
    assert shown == [expected.outputs["y"].tolist() for _, expected in drawn]
    # Lanes in another order would be noticed: no two of them show the same.
    assert len({tuple(words) for words in shown}) == 4


@tools
def test_lanes_that_cannot_run_together_are_refused(bench_of: Callable[..., Bench]) -> None:
    mapping = mapped(running_sum(), "streaming-engine:2,spokes=3,simd=128")
    stimuli = [stimulus for stimulus, _ in lane_stimuli(Interpreter(mapping.dfg), 4, 6, 0)]
    with pytest.raises(SimulationError) as error:
        bench_of(mapping).run_lanes(configure(mapping), stimuli[:3])
    assert str(error.value) == "the hardware has 4 SIMD lanes; found 3 stimuli"
    stimuli[2] = replace(stimuli[2], liveins={"start": stimuli[2].liveins["start"] + 1})
    with pytest.raises(SimulationError) as error:
        bench_of(mapping).run_lanes(configure(mapping), stimuli)
    assert str(error.value) == "lane 2: SIMD lanes share live-ins and the number of iterations; its own differ"


@pytest.mark.parametrize("simd", [32, 64, 512])
def test_bits_do_not_depend_on_the_width(simd: int) -> None:
    one = mapped(table(), "streaming-engine:8,spokes=6")
    packets = []
    for mapping in (one, widened(one, simd)):
        configuration = configure(mapping)
        hardware = Hardware(mapping.arch, fit_parameters(configuration))
        packets.append(pack(hardware, encode(configuration, hardware, {})))
    assert packets[0] == packets[1]
