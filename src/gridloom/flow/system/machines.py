"""What runs a program of core and array: the hardware in Verilator, or the model that predicts it.

The model runs the same binary. The core runs instruction by instruction, the array by the simulator of its
configuration, so that values are computed and not assumed; cycles of registers, transfers and configuration are those
of a model of the hardware.
"""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np

from gridloom.dfg.interpreter import Stimulus
from gridloom.flow.functions.compile import CompiledLoop
from gridloom.flow.system.launch_c import LaunchedLoop
from gridloom.flow.system.plan import SystemPlan
from gridloom.hardware.system.core import CoreRun
from gridloom.hardware.system.core_array import ArrayLaunch, ArrayOutcome, ArraySystem
from gridloom.hardware.system.soc import Faults, ProgramRun, run_soc, soc_program
from gridloom.sim.execute import Execution
from gridloom.sim.windows import ArrayWindow, place_arrays


class Machine(Protocol):
    """Runs binaries."""

    @property
    def predicts(self) -> bool:
        """Whether cycles are those of a model."""
        ...

    def run_system(self, plan: SystemPlan, binary: bytes, faults: Faults | None = None) -> ProgramRun:
        """Run a program with launches."""
        ...

    def run_core(self, plan: SystemPlan, binary: bytes) -> ProgramRun:
        """Run a program without launches."""
        ...


class Verilated:
    """The generated hardware with a core in Verilator; built for each plan where it is new."""

    predicts: Final = False

    def run_system(self, plan: SystemPlan, binary: bytes, faults: Faults | None = None) -> ProgramRun:
        """Run a program with launches, where something goes wrong if that is asked for."""
        return run_soc(soc_program(plan.system), binary, faults=faults)

    def run_core(self, plan: SystemPlan, binary: bytes) -> ProgramRun:
        """Run a program without launches on the same hardware."""
        return run_soc(soc_program(plan.system), binary)


class Modelled:
    """The model of core, bus and array; nothing goes wrong there."""

    predicts: Final = True

    def run_system(self, plan: SystemPlan, binary: bytes, faults: Faults | None = None) -> ProgramRun:
        """Run a program with launches."""
        return self._core(plan, binary).run()

    def run_core(self, plan: SystemPlan, binary: bytes) -> ProgramRun:
        """Run a program without launches."""
        return CoreRun(binary).run()

    def laps_of(self, plan: SystemPlan, binary: bytes) -> list[tuple[int, int]]:
        """What a program marks, with or without launches: words and cycles."""
        core = self._core(plan, binary)
        core.run()
        return core.laps

    def _core(self, plan: SystemPlan, binary: bytes) -> CoreRun:
        array = _ModelledArray(plan)
        return CoreRun(binary, device=lambda core: ArraySystem(core, plan.system, array.launch))


class _ModelledArray:
    """The array of a plan: finds the loop of an image and runs its configuration."""

    def __init__(self, plan: SystemPlan) -> None:
        mapped = {id(loop.plan.loop): loop for loop in plan.compiled.loops if loop.mapping is not None}
        self.loops: dict[tuple[int, ...], tuple[LaunchedLoop, CompiledLoop]] = {
            tuple(item.image.words()): (item, mapped[id(item.plan.loop)]) for item in plan.loops
        }

    def launch(self, asked: ArrayLaunch) -> ArrayOutcome:
        """Run a launch on the words of the data memory and of the streams."""
        launched, loop = self.loops[asked.image]
        image, slots = launched.image, loop.slots
        assert slots is not None
        memory, size = asked.memory, len(asked.memory)
        places = {name: asked.liveins[number] for name, number in image.bases.items()}
        windows = {name: ArrayWindow(base=at, low=-at, high=size - at) for name, at in places.items()}
        placed = place_arrays(slots, windows, size)
        streams = {node: asked.feeds[channels[0]] for node, channels in image.feeds.items() if channels}
        liveins = {name: _signed(asked.liveins[number]) for name, number in image.liveins.items()}
        running = Execution(placed, Stimulus(iterations=asked.iterations, streams=streams, liveins=liveins))
        running.memory[slots.words : slots.words + size] = memory
        running.advance(running.last)
        seen = running.outcome().observation
        memory[:] = running.memory[slots.words : slots.words + size]
        liveouts = {number: int(seen.liveouts[name]) for name, number in image.liveouts.items()}
        drains = {channel: np.asarray(seen.outputs[node], np.int64) for node, channel in image.drains.items()}
        return ArrayOutcome(liveouts=liveouts, drains=drains)


def _signed(word: int) -> int:
    """A word as a signed number."""
    return (word ^ 0x80000000) - 0x80000000
