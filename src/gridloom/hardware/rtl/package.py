"""The folder that ``gridloom rtl`` writes: modules, testbench, file lists, a README of the interface, and the bits.

The README is generated because its tables (widths of the packet's parts, bits of each field) follow from the array and
the parameters; it is all that an integrator needs to drive the top module without gridloom.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gridloom.hardware.bitstream.encode import encode
from gridloom.hardware.bitstream.files import disassemble, to_binary, to_hex
from gridloom.hardware.bitstream.packets import Size, pack, size
from gridloom.hardware.parameters import words_text
from gridloom.hardware.rtl.generate import rtl_files
from gridloom.hardware.rtl.layout import context_layout, offset_bits
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.rtl.testbench import bench_modules
from gridloom.hardware.rtl.top import TOP
from gridloom.hardware.rtl.unit_module import packet_bits
from gridloom.mapping.configuration import Configuration

#: The Makefile beside the modules of a mapping: its testbench without gridloom.
MAKEFILE: Final = """\
# Runs the testbench on the stimulus in run/ and compares the trace with expected.txt there, the simulator's results.
#   make                    with Icarus Verilog
#   make verilator          with Verilator
#   make STALL=1            streams, outputs and memory make the array wait, in random cycles with this seed
STALL ?= 0
OPTIONS = $(shell cat run/options) +stall=$(STALL)

.PHONY: icarus verilator compare clean
icarus: bench.vvp
	cd run && vvp -n ../bench.vvp $(OPTIONS)
	@$(MAKE) --no-print-directory compare

verilator: verilated/bench
	cd run && ../verilated/bench $(OPTIONS)
	@$(MAKE) --no-print-directory compare

bench.vvp: $(shell cat testbench.f)
	iverilog -g2012 -o $@ -s testbench -f testbench.f

verilated/bench: $(shell cat testbench.f)
	verilator --binary --timing -O3 -Wno-fatal -Wno-lint -Wno-style -Wno-STMTDLY --x-initial unique -j 2 \\
		--top-module testbench --Mdir verilated -o bench -f testbench.f

compare:
	@LC_ALL=C sort run/trace.txt | LC_ALL=C comm -13 - run/expected.txt > run/missing.txt
	@if [ -s run/missing.txt ]; then echo "results that the hardware did not give:"; head run/missing.txt; exit 1; fi
	@echo "hardware and simulator agree in $$(($$(wc -l < run/expected.txt))) words"

clean:
	rm -rf bench.vvp verilated run/trace.txt run/missing.txt
"""


@dataclass(frozen=True, kw_only=True)
class BitFiles:
    """A configuration in its three forms, and its size."""

    #: File name -> text: the packets in hex, and what they set in words.
    texts: Mapping[str, str]
    binary: bytes
    size: Size


def hardware_files(hardware: Hardware) -> dict[str, str]:
    """Return file name -> text: modules, testbench, file lists and README."""
    modules = rtl_files(hardware)
    bench = bench_modules(hardware)
    lists = {
        "files.f": "\n".join([*modules, ""]),
        "testbench.f": "\n".join([*modules, *bench, ""]),
        "README.md": readme(hardware),
    }
    return modules | bench | lists


def bit_files(hardware: Hardware, configuration: Configuration, liveins: Mapping[str, int] | None = None) -> BitFiles:
    """Return the files of a configuration's bits; live-ins that are not given are 0.

    MappingError where :func:`encode` raises it: the hardware is too small or lacks something.
    """
    packets = pack(hardware, encode(configuration, hardware, liveins))
    texts = {"config.hex": to_hex(hardware, packets), "config.txt": disassemble(hardware, packets)}
    return BitFiles(texts=texts, binary=to_binary(hardware, packets), size=size(hardware, packets, configuration.ii))


def readme(hardware: Hardware) -> str:
    """Return the README of an array's hardware: the interface of the top module, and the fields of each unit."""
    arch = hardware.arch
    lines = [
        f"# Hardware of {arch.name}",
        "",
        f"Top module `{TOP}`, {len(arch.tiles)} tiles, {words_text(hardware.width, hardware.simd_lanes)}, "
        f"{hardware.contexts} contexts. `files.f` lists the modules, `testbench.f` those and the testbench.",
        "",
        "| port | meaning |",
        "| --- | --- |",
        "| `clk`, `rst` | one clock; synchronous reset |",
        f"| `cfg_valid`, `cfg_packet` | one packet per cycle: unit ({hardware.id_bits} bits), region (2), offset "
        f"({offset_bits(hardware)}), data (32); {packet_bits(hardware)} bits in all |",
        "| `run`, `iterations` | cycle 0 is the second cycle after `run` has gone high; `run` low brings everything "
        "back to it |",
        "| `finished` | every slot has issued its last iteration |",
        "| `slot` | cycle mod II |",
    ]
    if any(unit.shape.streams for unit in hardware.units):
        lines.append("| `TILE_stream_K_word`, `_read` | the next word of a stream; it is taken when `_read` is high |")
    if any(unit.shape.emits for unit in hardware.units):
        lines.append("| `TILE_emit_valid`, `_word` | a result that leaves the array |")
    if hardware.buses:
        lines.append("| `BUS_request`, `_store`, `_address`, `_word`, `_loaded` | data memory; it answers at once |")
    if hardware.simd_lanes > 1:
        lines += ["", "A word of a stream, of an output and of memory has the words of all SIMD lanes, that of lane 0 "
                  "in its lowest bits; `BUS_request`, `_store` and `_address` have a field for each lane."]  # fmt: skip
    lines += ["", "After the last packet wait as many cycles as there are units on the chain, then raise `run`.", ""]
    return "\n".join([*lines, *_unit_tables(hardware)])


def _unit_tables(hardware: Hardware) -> list[str]:
    """A section for each unit variant: where it is used, and the fields of its context word."""
    lines = ["## Units on the configuration chain", "", "Unit 0 is the sequencer.", ""]
    for shape, name in hardware.variants.items():
        units = hardware.places[shape]
        # A table of all units of a large array would hide the fields below it.
        shown = ", ".join(f"{unit.name} ({unit.id})" for unit in units[:12]) + (", ..." if len(units) > 12 else "")
        layout = context_layout(shape, hardware.parameters)
        lines += [f"### `{name}`: {len(units)} units, {layout.bits} bits per context", "", shown, ""]
        if layout.bits:
            lines += ["| field | bit | bits | meaning |", "| --- | --- | --- | --- |"]
            lines += [f"| `{field}` | {first} | {width} | {text} |" for field, first, width, text in layout.fields]
            lines.append("")
    return lines
