"""Energy follows what switches: hops, bits, accesses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests import hand_mappings

from gridloom.archs.model import Kind
from gridloom.flow.hardware import energy_of
from gridloom.hardware.energy import EnergyTable, energy, op_energy
from gridloom.mapping import Mapping


def test_the_parts_add_up_to_the_total() -> None:
    found = energy_of(hand_mappings.mesh_fifo_2())
    assert found.total == pytest.approx(found.ops + found.links + found.registers + found.memory + found.clock)
    assert min(found.ops, found.links, found.registers, found.clock) > 0
    assert found.memory == 0


def test_words_that_never_change_cost_the_clock_alone() -> None:
    mapping = hand_mappings.mesh_fifo_2()
    still = energy(mapping, np.full((8, len(mapping.dfg.nodes)), 5, dtype=np.int64))
    assert still.total == still.clock > 0


def test_every_bit_that_changes_on_a_wire_counts() -> None:
    mapping = hand_mappings.mesh_local()
    count = len(mapping.dfg.nodes)
    one = np.tile(np.array([[0], [1]], dtype=np.int64), (4, count))
    four = np.tile(np.array([[0], [15]], dtype=np.int64), (4, count))
    assert energy(mapping, four).links == pytest.approx(4 * energy(mapping, one).links)
    assert energy(mapping, four).registers == pytest.approx(4 * energy(mapping, one).registers)


def test_a_value_that_waits_in_memory_is_stored_and_loaded() -> None:
    mapping = hand_mappings.LEGAL["torus_spill"]()
    own = sum(op.op_class == "mem" for op in mapping.dfg.ops)
    assert energy_of(mapping).memory == (own + 2) * EnergyTable().memory / 2


@pytest.mark.parametrize(("width", "add", "mul"), [(8, 0.03, 0.2), (32, 0.1, 3.1), (4, 0.015, 0.05)])
def test_operations_cost_what_the_table_says(width: int, add: float, mul: float) -> None:
    assert op_energy("i32", "alu", "add", width) == pytest.approx(add)
    assert op_energy("i32", "mul", "mul", width) == pytest.approx(mul)


def test_what_computes_nothing_costs_no_operation() -> None:
    assert op_energy("i32", "const", "const", 32) == op_energy("i32", "output", "output", 32) == 0


def words(mapping: Mapping) -> float:
    """How many words of registers the clock of an array drives in a cycle."""
    still = energy(mapping, np.full((2, len(mapping.dfg.nodes)), 5, dtype=np.int64))
    return still.clock / (EnergyTable().clock * 32 * mapping.ii)


def test_tiles_share_the_register_of_a_link_that_leads_on() -> None:
    plain = hand_mappings.mesh_local()
    arch = plain.arch
    onward = {(int(s), int(arch.tile[t])) for s, t, c in zip(arch.arc_source, arch.arc_target, arch.arc_latency)
              if c and arch.kind[t] == Kind.LINK}  # fmt: skip
    fifos = sum((tile.fifo or 0) * tile.operands for tile in arch.tiles)
    assert words(plain) == pytest.approx(len(arch.tiles) + len(onward) + fifos)


def test_pipeline_registers_cost_where_they_are_switched_on() -> None:
    rows = hand_mappings.vpcma_three_rows()
    off = replace(rows, settings={"pipeline": [0] * 7})
    # Behind two rows of twelve tiles stand registers for the ALU and for the N output.
    assert words(rows) - words(off) == pytest.approx(2 * 12 * 2)
