"""A plain Verilog testbench: it sends the configuration, feeds streams, serves memory and records what happens.

It reads ``config.hex``, ``stream_index.hex``, ``streams.hex`` and ``memory.hex`` from the folder it runs in. It writes
``trace.txt``: a line ``F cycle tile result`` for each firing, a line ``E cycle tile word`` for each word that leaves
through a port and, at the end, a line ``M address lane word`` for each word of the data memory. Nothing in it depends
on a mapping, so one compilation serves every run.

Time: two cycles of reset, one packet per cycle, then as many cycles as the chain has units (and some more), then
``run`` is high for ``+cycles`` cycles; cycle 0 is the second one after ``run`` has gone high. All sizes of a run come
as plusargs: ``+packets``, ``+iterations``, ``+cycles``, ``+stream_words``, ``+memory_words``. With a seed in ``+stall``
streams have no word, outputs no room and memory no time in random cycles, and the clock of the array stands still until
they have. Firings are read inside the units by hierarchical names (``array.TILE.fired``), so
it does not work on a netlist after synthesis. ``PACKETS`` and ``STREAM_WORDS`` limit the packets and words of streams.

With SIMD lanes a word of a stream or of the trace has the words of all lanes, that of lane 0 in the lowest bits. Each
further lane has a file ``memory_1.hex`` and so on for a data memory of its own.
"""

from __future__ import annotations

from gridloom.hardware.rtl.generate import primitive
from gridloom.hardware.rtl.layout import CHUNK, ID_BITS, OFFSET_BITS, offset_bits
from gridloom.hardware.rtl.shapes import Unit
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.rtl.text import bit, concatenate, instance, wire
from gridloom.hardware.rtl.top import TOP
from gridloom.hardware.rtl.unit_module import packet_bits

TESTBENCH = "testbench"
#: The most packets, and words of all streams together, that a run can read.
PACKETS = STREAM_WORDS = 65536


def stream_ports(hardware: Hardware) -> list[tuple[Unit, int]]:
    """Return the stream inputs of an array as (unit, operand), in the order of the testbench's table."""
    return [(unit, k) for unit in hardware.units for k in range(unit.shape.streams)]


def bench_modules(hardware: Hardware) -> dict[str, str]:
    """Return file name -> text of the testbench and of what it needs besides the modules of the array."""
    names = ["gl_clock_gate", *(["gl_data_memory"] if hardware.buses else [])]
    return {f"{TESTBENCH}.v": testbench(hardware)} | {f"{name}.v": primitive(name) for name in names}


def testbench(hardware: Hardware) -> str:
    """Return the text of the testbench for an array."""
    h = hardware
    lines = ["`timescale 1ns / 1ps", f"module {TESTBENCH};"]
    body = [*_declarations(h), *_streams(h), *_array(h), *_memory(h), *_trace(h), *_control(h)]
    return "\n".join([*lines, *(f"    {line}".rstrip() for line in body), "endmodule", ""])


def _declarations(h: Hardware) -> list[str]:
    """Parameters, registers and the clock; packets are cut to the width of the chain."""
    return [
        f"parameter PACKETS = {PACKETS};",
        f"parameter STREAM_WORDS = {STREAM_WORDS};",
        "reg clk = 0, rst = 1, run = 0, coming = 0, started = 0, cfg_valid = 0;",
        "reg [63:0] packet = 0;",
        "reg [31:0] iterations = 0;",
        "reg [63:0] packets [0:PACKETS-1];",
        "integer packet_count, stream_count, memory_count, cycle_count;",
        "integer file, cycle = 0, k, s, stall = 0;",
        wire(1, "array_clk"),
        wire(h.slot_bits, "slot"),
        wire(1, "finished"),
        # Files hold packets with wide fields; the chain has as many bits as the array needs.
        wire(
            packet_bits(h),
            "cfg_packet",
            f"{{packet[{64 - ID_BITS + h.id_bits - 1}:{64 - ID_BITS}], packet[{CHUNK + OFFSET_BITS + 1}:"
            f"{CHUNK + OFFSET_BITS}], packet[{CHUNK + offset_bits(h) - 1}:{CHUNK}], packet[{CHUNK - 1}:0]}}",
        ),
        "always #5 clk = !clk;",
    ]


def _streams(h: Hardware) -> list[str]:
    """Each stream input has, for each slot, a pointer into one table of words."""
    ports = stream_ports(h)
    if not ports:
        return []
    w, contexts = h.vector_width, 1 << h.slot_bits
    lines = [
        f"reg [{w - 1}:0] stream_words [0:STREAM_WORDS-1];",
        f"reg [31:0] stream_at [0:{len(ports) * contexts - 1}];",
    ]
    steps = []
    for number, (unit, k) in enumerate(ports):
        name = f"{h.verilog_names[unit.name]}_stream_{k}"
        at = f"stream_at[{number * contexts} + slot]"
        lines += [wire(1, f"{name}_read"), wire(w, f"{name}_word", f"stream_words[{at}]")]
        steps.append(f"    if ({name}_read) {at} <= {at} + 1;")
    return [*lines, "always @(posedge array_clk) begin", *steps, "end"]


def _array(h: Hardware) -> list[str]:
    """The instance of the array, with a wire for each of its ports."""
    w, lanes = h.vector_width, h.simd_lanes
    lines: list[str] = []
    ports = {name: name for name in ("clk", "rst", "cfg_valid", "cfg_packet", "run", "iterations", "finished", "slot")}
    for unit, k in stream_ports(h):
        for suffix in ("word", "read"):
            name = f"{h.verilog_names[unit.name]}_stream_{k}_{suffix}"
            ports[name] = name
    for unit in h.units:
        if unit.shape.emits:
            name = h.verilog_names[unit.name]
            lines += [wire(1, f"{name}_emit_valid"), wire(w, f"{name}_emit_word")]
            ports |= {f"{name}_emit_{part}": f"{name}_emit_{part}" for part in ("valid", "word")}
    for bus in h.buses:
        widths = {"request": lanes, "store": lanes, "address": lanes * h.address_bits, "word": w, "loaded": w}
        for part, width in widths.items():
            lines.append(wire(width, f"{bus.name}_{part}"))
            ports[f"{bus.name}_{part}"] = f"{bus.name}_{part}"
    ports["clk"] = "array_clk"
    return [*lines, *instance(TOP, "array", {}, ports), *_stall(h)]


def _stall(h: Hardware) -> list[str]:
    """The clock of the array: it stops while something that the array asks for is not there."""
    names = h.verilog_names
    asked = [f"{names[unit.name]}_stream_{k}_read" for unit, k in stream_ports(h)]
    asked += [f"{names[unit.name]}_emit_valid" for unit in h.units if unit.shape.emits]
    asked += [f"{bus.name}_request" if h.simd_lanes == 1 else f"|{bus.name}_request" for bus in h.buses]
    if not asked:
        return ["assign array_clk = clk;"]
    count = len(asked)
    return [
        wire(count, "asked", concatenate(asked)),
        f"reg [{max(1, count - 1)}:0] missing = 0;",
        "always @(posedge clk) if (stall != 0)",
        f"    for (s = 0; s < {count}; s = s + 1) missing[s] <= $random(stall) % 4 == 0;",
        f"wire waits = started && |(asked & missing[{count - 1}:0]);",
        *instance("gl_clock_gate", "gate", {}, {"clk": "clk", "enable": "!waits", "gated": "array_clk"}),
    ]


def memory_name(lane: int) -> str:
    """Return the name of the data memory of a SIMD lane, which the names of its files begin with."""
    return f"memory_{lane}" if lane else "memory"


def _memory(h: Hardware) -> list[str]:
    """The instance of the data memory, with one port per bus; each SIMD lane has a memory of its own."""
    return [line for lane in range(h.simd_lanes if h.buses else 0) for line in _lane_memory(h, lane)]


def _lane_memory(h: Hardware, lane: int) -> list[str]:
    """The data memory of a lane."""
    bits, lanes = h.address_bits, h.simd_lanes
    asked = [f"{bit(f'{b.name}_request', lane, lanes)} && {bit(f'{b.name}_store', lane, lanes)}" for b in h.buses]

    def words(part: str, width: int) -> str:
        return concatenate([b if lanes == 1 else f"{b}[{(lane + 1) * width - 1}:{lane * width}]"
                       for b in (f"{bus.name}_{part}" for bus in h.buses)])  # fmt: skip

    return instance(
        "gl_data_memory", memory_name(lane),
        {"W": h.width, "PORTS": len(h.buses), "ADDRESS_BITS": bits, "SYNCHRONOUS": int(h.synchronous)},
        {
            "clk": "array_clk", "store": concatenate(asked), "address": words("address", bits),
            "word": words("word", h.width), "loaded": words("loaded", h.width),
        },
    )  # fmt: skip


def _trace(h: Hardware) -> list[str]:
    """Statements that write a line for each firing and for each word that leaves the array."""
    lines = ["always @(posedge array_clk) if (started) begin"]
    for unit in h.units:
        if unit.shape.kind != "pe":
            continue
        name = h.verilog_names[unit.name]
        inner = f"array.{name}"
        # A result is written with the cycle of its issue, in which it may not have been known yet.
        at = f"cycle - {unit.shape.settle}" if unit.shape.settle else "cycle"
        lines.append(f'    if ({inner}.fired) $fwrite(file, "F %0d {unit.tile} %h\\n", {at}, {inner}.settled);')
        if unit.shape.emits:
            emitted = f'$fwrite(file, "E %0d {unit.tile} %h\\n", {at}, {name}_emit_word);'
            lines.append(f"    if ({name}_emit_valid) {emitted}")
    starting = "always @(posedge array_clk) {started, coming} <= {started || coming, run};"
    return [*lines, "    cycle <= cycle + 1;", "end", starting]


def _control(h: Hardware) -> list[str]:
    """The sequence of a run: read the files, reset, send packets, run so many cycles, write memory."""
    read = ['$readmemh("config.hex", packets, 0, packet_count - 1);']
    if stream_ports(h):
        read += [
            'if (stream_count > 0) $readmemh("streams.hex", stream_words, 0, stream_count - 1);',
            '$readmemh("stream_index.hex", stream_at);',
        ]
    end = []
    for lane in range(h.simd_lanes if h.buses else 0):
        name = memory_name(lane)
        read.append(f'if (memory_count > 0) $readmemh("{name}.hex", {name}.words, 0, memory_count - 1);')
        words = f'$fwrite(file, "M %0d {lane} %h\\n", k, {name}.words[k]);'
        end.append(f"for (k = 0; k < memory_count; k = k + 1) {words}")
    names = {"packets": "packet_count", "iterations": "iterations", "cycles": "cycle_count",
             "stream_words": "stream_count", "memory_words": "memory_count", "stall": "stall"}  # fmt: skip
    options = [f'if (!$value$plusargs("{option}=%d", {name})) {name} = 0;' for option, name in names.items()]
    steps = [
        *options, *read,
        'file = $fopen("trace.txt", "w");',
        "repeat (2) @(posedge clk);",
        "rst <= 0;",
        "for (k = 0; k < packet_count; k = k + 1) begin",
        "    @(posedge clk);",
        "    cfg_valid <= 1;",
        "    packet <= packets[k];",
        "end",
        "@(posedge clk);",
        "cfg_valid <= 0;",
        # The last packet takes a cycle per unit to reach the end of the chain.
        f"repeat ({len(h.units) + 3}) @(posedge array_clk);",
        "run <= 1;",
        "repeat (cycle_count) @(posedge array_clk);",
        "run <= 0;",
        # The last firing is two cycles behind `run`, and its result may take some more.
        f"repeat ({3 + max(unit.shape.settle for unit in h.units)}) @(posedge array_clk);",
        *end,
        "$fclose(file);",
        "$finish;",
    ]  # fmt: skip
    return ["initial begin", *(f"    {step}" for step in steps), "end"]
