"""A trace shows what the simulator had in each cycle, and nothing that was not there."""

from __future__ import annotations

import numpy as np
import pytest
from tests import hand_mappings as hand

from gridloom.dfg.interpreter import Interpreter
from gridloom.errors import SimulationError
from gridloom.mapping.configuration import configure
from gridloom.sim.execute import Execution
from gridloom.sim.slot_code import compile_slots
from gridloom.sim.stimulus import stimulus_for
from gridloom.sim.trace.clocked import is_poison, record

CLOCKED = [name for name in hand.LEGAL if "rdu" not in name]


@pytest.mark.parametrize("name", CLOCKED)
def test_each_row_is_what_a_run_that_stops_there_has(name: str) -> None:
    configuration = configure(hand.LEGAL[name]())
    stimulus = stimulus_for(configuration.dfg, 5, 3)
    trace = record(configuration, stimulus)
    for cycle in range(1, trace.cycles, 2):
        running = Execution(compile_slots(configuration), trace.stimulus)
        running.advance(cycle)
        assert (running.row_values() == trace.values[cycle - 1]).all()


@pytest.mark.parametrize("name", CLOCKED)
def test_results_and_memory_are_those_of_the_interpreter(name: str) -> None:
    configuration = configure(hand.LEGAL[name]())
    stimulus = stimulus_for(configuration.dfg, 6, 1)
    trace = record(configuration, stimulus)
    expected = Interpreter(configuration.dfg).run(stimulus)
    seen = trace.outcome.observation
    assert all((seen.outputs[name] == words).all() for name, words in expected.outputs.items())
    memory = trace.memory.copy()
    for _, word, value in trace.stores.tolist():
        memory[word] = value
    for array, (first, length) in trace.compiled.arrays.items():
        assert (memory[first : first + length] == expected.memory[array]).all()


def test_a_wire_has_a_value_only_in_the_slots_that_set_it() -> None:
    trace = record(configure(hand.torus_rotating()), stimulus_for(hand.torus_rotating().dfg, 4, 0))
    ii = trace.compiled.configuration.ii
    for slot in range(ii):
        code = trace.compiled.code[trace.compiled.start[slot] : trace.compiled.start[slot + 1]]
        assert trace.valid[slot][code[code[:, 0] < 4, 1]].all()
    assert trace.valid.shape == (ii, len(trace.compiled.rows))


def test_undriven_words_are_told_from_values() -> None:
    mapping = hand.mesh_fifo_2()
    trace = record(configure(mapping), stimulus_for(mapping.dfg, 4, 0))
    assert is_poison(trace, trace.values[0]).any(), "before the first result some wires float"
    assert not is_poison(trace, trace.results[:4]).any()
    assert not is_poison(trace, np.array([0, 7, -1, 2**62])).any()


def test_a_trace_that_would_be_too_large_has_fewer_iterations() -> None:
    mapping = hand.mesh_fifo_2()
    configuration = configure(mapping)
    whole = record(configuration, stimulus_for(mapping.dfg, 20, 0))
    short = record(configuration, stimulus_for(mapping.dfg, 20, 0), cells=whole.values.size - 1)
    assert short.stimulus.iterations == 19
    assert (short.values[:19] == whole.values[:19]).all(), "the same but for what the last iteration adds"


def test_one_iteration_that_is_too_large_is_refused_in_words() -> None:
    mapping = hand.mesh_fifo_2()
    with pytest.raises(SimulationError, match=r"cycles of \d+ wires and registers are more than a trace holds"):
        record(configure(mapping), stimulus_for(mapping.dfg, 1, 0), cells=3)
