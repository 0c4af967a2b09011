"""Coverage counts what configurations use, once per variant of a unit."""

from __future__ import annotations

from tests import hand_mappings
from tests.hardware.coverage import cover
from tests.random_cases import legal_mappings

from gridloom.flow.hardware import hardware_for
from gridloom.hardware.bitstream.encode import encode
from gridloom.hardware.parameters import HardwareParameters
from gridloom.mapping.configuration import configure


def test_hardware_trimmed_to_a_mapping_is_covered_by_it() -> None:
    mapping = hand_mappings.mesh_fifo_2()
    configuration = configure(mapping)
    whole = hardware_for(mapping.arch, HardwareParameters(), mapping=mapping)
    kept = hardware_for(mapping.arch, HardwareParameters(), mapping=mapping, trim=[mapping])
    loose, tight = (cover(h, [encode(configuration, h)]) for h in (whole, kept))
    assert tight.inputs_used == tight.inputs
    assert loose.inputs_used < loose.inputs
    # A move is in every function unit, whether a mapping names it or not.
    assert {line.rpartition(": ")[2] for line in tight.unused} <= {"move"}


def test_no_configuration_covers_nothing() -> None:
    mapping = hand_mappings.mesh_local()
    hardware = hardware_for(mapping.arch, HardwareParameters(), mapping=mapping)
    nothing = cover(hardware, [])
    assert (nothing.inputs_used, nothing.ops_used) == (0, 0)
    assert len(nothing.unused) == nothing.inputs + nothing.ops
    assert str(nothing) == f"0 of {nothing.inputs} multiplexer inputs, 0 of {nothing.ops} ops"


def test_more_mappings_cover_more() -> None:
    mappings = [m for m in legal_mappings("static", 8) if m.arch.spec.get("level") != "paper"]
    first = mappings[0]
    same = [m for m in mappings if m.arch.fingerprint == first.arch.fingerprint]
    hardware = hardware_for(first.arch, HardwareParameters(values=64, fifo=64), mapping=first)
    encoded = [encode(configure(m), hardware) for m in same]
    assert cover(hardware, encoded).inputs_used >= cover(hardware, encoded[:1]).inputs_used > 0
