"""The module around an array on a board: a scan chain for its ports, block RAM for its memory, a clock that can stop.

An array has more ports than most packages have pins, so a host reaches them through a scan chain of eight wires
(``gl_scan``): it shifts in a value for every input, lets the array run for one cycle (``step``) or freely (``free``),
captures the outputs and shifts them out. The clock of the array stands still in between, which is also how a stream
makes the array wait. Kernels whose data is in memory run freely; ``host_select`` gives the host the first memory port.

:func:`scan_inputs` and :func:`scan_outputs` list the fields of the chain, the first one nearest to bit 0 of the chain,
which is the bit that was shifted in last.
"""

from __future__ import annotations

from gridloom.errors import ArchError
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.rtl.testbench import stream_ports
from gridloom.hardware.rtl.text import concatenate, instance, module, port, wire
from gridloom.hardware.rtl.top import TOP
from gridloom.hardware.rtl.unit_module import packet_bits

BOARD = "gridloom_board"
#: The primitives of the board's module, beside those of the array.
BOARD_PRIMITIVES = ("gl_clock_gate", "gl_scan")
#: Ports of the board's module, all of one bit.
PINS = ("clk", "rst", "shift", "capture", "update", "step", "free", "serial_in", "serial_out")


def scan_inputs(hardware: Hardware) -> list[tuple[str, int]]:
    """Return (name, bits) of each field that the chain drives."""
    fields = [("cfg_valid", 1), ("cfg_packet", packet_bits(hardware)), ("run", 1), ("iterations", 32)]
    fields += [(f"{hardware.verilog_names[unit.name]}_stream_{k}_word", hardware.vector_width)
               for unit, k in stream_ports(hardware)]  # fmt: skip
    if hardware.buses:
        fields += [("host_select", 1), ("host_store", 1), ("host_address", hardware.address_bits),
                   ("host_word", hardware.width)]  # fmt: skip
    return fields


def scan_outputs(hardware: Hardware) -> list[tuple[str, int]]:
    """Return (name, bits) of each field that the chain captures."""
    names = hardware.verilog_names
    fields = [("finished", 1), ("slot", hardware.slot_bits)]
    fields += [(f"{names[unit.name]}_stream_{k}_read", 1) for unit, k in stream_ports(hardware)]
    for unit in hardware.units:
        if unit.shape.emits:
            fields += [(f"{names[unit.name]}_emit_valid", 1), (f"{names[unit.name]}_emit_word", hardware.vector_width)]
    if hardware.buses:
        fields.append(("host_loaded", hardware.width))
    return fields


def board_module(hardware: Hardware) -> str:
    """Return the Verilog of the module that goes onto a board. Linear in the array's ports.

    ArchError for SIMD lanes that access memory: the chain reaches one memory, and each lane has its own.
    """
    if hardware.buses and hardware.simd_lanes > 1:
        raise ArchError(
            f"array {hardware.arch.name!r}: {hardware.simd_lanes} SIMD lanes have a memory each, a board has one; "
            "leave memory=true out, or take one lane"
        )
    inputs, outputs = scan_inputs(hardware), scan_outputs(hardware)
    body = [wire(width, name) for name, width in [*inputs, *outputs]]
    body += [
        wire(1, "array_clk"),
        "reg stepping;",
        "always @(posedge clk) stepping <= step;",
        # One cycle per rising edge of `step`, which a slow host may hold for as long as it likes.
        *instance(
            "gl_clock_gate", "gate", {}, {"clk": "clk", "enable": "free || (step && !stepping)", "gated": "array_clk"}
        ),
        *instance(
            "gl_scan",
            "scan",
            {"INPUTS": sum(width for _, width in inputs), "OUTPUTS": sum(width for _, width in outputs)},
            {
                "clk": "clk",
                "shift": "shift",
                "capture": "capture",
                "update": "update",
                "serial_in": "serial_in",
                "inputs": concatenate([name for name, _ in inputs]),
                "outputs": concatenate([name for name, _ in outputs]),
                "serial_out": "serial_out",
            },
        ),
    ]
    ports = {name: name for name, _ in [*inputs, *outputs] if not name.startswith("host_")}
    ports |= {"clk": "array_clk", "rst": "rst"}
    for bus in hardware.buses:
        widths = {"request": 1, "store": 1, "address": hardware.address_bits, "word": hardware.width,
                  "loaded": hardware.width}  # fmt: skip
        body += [wire(width, f"{bus.name}_{part}") for part, width in widths.items()]
        ports |= {f"{bus.name}_{part}": f"{bus.name}_{part}" for part in widths}
    body += instance(TOP, "array", {}, ports)
    if hardware.buses:
        body += _memory(hardware)
    comment = [f"Array {hardware.arch.name} behind a scan chain of {sum(width for _, width in inputs)} bits in and "
               f"{sum(width for _, width in outputs)} bits out."]  # fmt: skip
    pins = [port("output" if name == "serial_out" else "input", 1, name) for name in PINS]
    return module(BOARD, comment, pins, body)


def _memory(hardware: Hardware) -> list[str]:
    """The block RAM behind the memory buses; the host takes the first port while it selects it."""
    first, *rest = [bus.name for bus in hardware.buses]
    bits, w = hardware.address_bits, hardware.width
    store = [f"host_select ? host_store : {first}_request && {first}_store"]
    store += [f"{name}_request && {name}_store" for name in rest]
    return [
        wire(1, "first_store", store[0]),
        wire(bits, "first_address", f"host_select ? host_address : {first}_address"),
        wire(w, "first_word", f"host_select ? host_word : {first}_word"),
        f"assign host_loaded = {first}_loaded;",
        *instance(
            "gl_block_memory", "memory",
            {"W": w, "PORTS": 1 + len(rest), "ADDRESS_BITS": bits, "SYNCHRONOUS": int(hardware.synchronous)},
            {"clk": "array_clk", "store": concatenate(["first_store", *(f"({part})" for part in store[1:])]),
             "address": concatenate(["first_address", *(f"{name}_address" for name in rest)]),
             "word": concatenate(["first_word", *(f"{name}_word" for name in rest)]),
             "loaded": concatenate([f"{name}_loaded" for name in (first, *rest)])},
        ),
    ]  # fmt: skip
