"""The Verilog module of a unit: instances of the primitives, wired as the shape says.

The generated part is wiring only. A processing element reads, from left to right: delay registers of late arcs, one
multiplexer per wire, operand FIFOs with the choice of the lane, ``gl_pe`` (firing window, initial values, function
unit, memory access), and the output register with what else takes the result. The context word of the current slot
drives all selects at once; it is read without delay, so a slot takes effect in its own cycle.

``unused`` collects signals that nothing reads in this shape and names them in one dead expression, which keeps lint
tools silent without switching a warning off.
"""

from __future__ import annotations

from gridloom.hardware.parameters import OPCODES, bits_for
from gridloom.hardware.rtl.layout import (
    CHUNK,
    REGION_CONTEXT,
    REGION_REGISTER,
    REGION_SETTING,
    REGION_VALUE,
    context_layout,
    count_bits,
    offset_bits,
    rotating_bits,
    tap_bits,
    value_bits,
)
from gridloom.hardware.rtl.structure import Hardware, Mux, Shape, Source
from gridloom.hardware.rtl.text import bit, instance, joined, module, port, ring_wires, wire


def packet_bits(hardware: Hardware) -> int:
    """Return how many bits a packet on the configuration chain of an array has.

    They are unit, region (2 bits), offset and data (32 bits).
    """
    return hardware.id_bits + 2 + offset_bits(hardware) + CHUNK


def unit_module(hardware: Hardware, shape: Shape) -> str:
    """Return the Verilog of one shape. Linear in its multiplexer inputs."""
    return _UnitModule(hardware, shape).text()


class _UnitModule:
    """Builds the text of a unit's module part by part; ``ports``, ``body`` and ``unused`` grow as parts are added.

    An instance is used once. The order of the calls is the order of the text.
    """

    def __init__(self, hardware: Hardware, shape: Shape) -> None:
        self.hardware, self.shape = hardware, shape
        self.parameters = hardware.parameters
        self.width = hardware.width
        self.layout = context_layout(shape, hardware.parameters)
        self.ports: list[str] = []
        self.body: list[str] = []
        self.unused: list[str] = []
        self.fields = self.layout.by_name

    def text(self) -> str:
        """Return the whole module."""
        self._chain()
        if self.shape.kind == "const":
            self._constant()
        elif self.shape.kind == "file":
            self._context()
            self._file()
        else:
            self._context()
            self._element()
        if self.unused:
            self.body.append(wire(1, "unused", "&{1'b0, " + ", ".join(self.unused) + "}"))
        name = self.hardware.variants[self.shape]
        places = [unit.name for unit in self.hardware.places[self.shape]]
        shown = ", ".join(places[:8]) + (", ..." if len(places) > 8 else "")
        return module(name, [f"{len(places)} of {self.hardware.arch.name}: {shown}"], self.ports, self.body,
                      "parameter ID = 0")  # fmt: skip

    # -- configuration ------------------------------------------------------------------------------------------------

    def _chain(self) -> None:
        """The link of the configuration chain, and the packets that are for this unit."""
        offset = offset_bits(self.hardware)
        bits = packet_bits(self.hardware)
        self.ports += [port("input", 1, "clk"), port("input", 1, "rst")]
        for name, direction in (("in", "input"), ("out", "output")):
            self.ports += [port(direction, 1, f"cfg_valid_{name}"), port(direction, bits, f"cfg_packet_{name}")]
        self.body += [
            wire(1, "cfg_write"), wire(2, "cfg_region"), wire(offset, "cfg_offset"), wire(CHUNK, "cfg_data"),
            *instance(
                "gl_config_port", "chain",
                {"ID": "ID", "ID_BITS": self.hardware.id_bits, "OFFSET_BITS": offset, "CHUNK": CHUNK},
                {
                    "clk": "clk", "rst": "rst", "valid_in": "cfg_valid_in", "packet_in": "cfg_packet_in",
                    "valid_out": "cfg_valid_out", "packet_out": "cfg_packet_out", "write": "cfg_write",
                    "region": "cfg_region", "offset": "cfg_offset", "data": "cfg_data",
                },
            ),
        ]  # fmt: skip

    def _region(self, number: int) -> str:
        """The condition under which a packet of the chain is a write to one region of this unit."""
        return f"cfg_write && cfg_region == 2'd{number}"

    def _context(self) -> None:
        """The context memory, whose word of the current slot is ``word``."""
        slots = self.hardware.slot_bits
        self.ports += [port("input", 1, "run"), port("input", slots, "slot")]
        names = {"BITS": self.layout.bits, "CONTEXTS": self.shape.contexts, "SLOT_BITS": slots,
                 "OFFSET_BITS": offset_bits(self.hardware), "CHUNK": CHUNK}  # fmt: skip
        connections = {"clk": "clk", "write": self._region(REGION_CONTEXT), "offset": "cfg_offset", "data": "cfg_data",
                       "slot": "slot", "word": "word"}  # fmt: skip
        self.body += [wire(self.layout.bits, "word"), *instance("gl_context_memory", "contexts", names, connections)]

    def field(self, name: str) -> str:
        """Return the bits of a field as Verilog; 0 where the unit has no such field."""
        if name not in self.fields:
            return "1'b0"
        place = self.fields[name]
        if self.layout.bits == 1:
            return "word"
        return f"word[{place.offset + place.width - 1}:{place.offset}]" if place.width > 1 else f"word[{place.offset}]"

    # -- kinds of units -----------------------------------------------------------------------------------------------

    def _constant(self) -> None:
        """A constant register, written by the configuration."""
        self.ports.append("output reg  " + f"[{self.width - 1}:0] word")
        self.body.append(
            f"always @(posedge clk) if ({self._region(REGION_SETTING)}) word <= cfg_data[{self.width - 1}:0];"
        )
        self.unused += ["cfg_offset", "cfg_data"]

    def _file(self) -> None:
        """A central register file: each register selects one of the tiles that write it."""
        shape, w = self.shape, self.width
        self.ports += [port("input", 1, "last_slot"), port("input", shape.writers, "done"),
                       port("input", shape.writers * w, "done_words"),
                       port("output", shape.registers * w, "held")]  # fmt: skip
        writes, words = [], []
        select = bits_for(shape.writers + 1)
        for k in range(shape.registers):
            self.body.append(wire(select, f"r{k}_select", self.field(f"r{k}.write")))
            self.body += [wire(1, f"r{k}_write"), wire(w, f"r{k}_word")]
            for result, sources, width in (("write", "{done, 1'b0}", 1), ("word", f"{{done_words, {w}'d0}}", w)):
                self.body += instance(
                    "gl_mux", f"r{k}_{result}_mux", {"W": width, "N": shape.writers + 1, "SELECT_BITS": select},
                    {"sources": sources, "select": f"r{k}_select", "chosen": f"r{k}_{result}"},
                )  # fmt: skip
            writes.append(f"r{k}_write")
            words.append(f"r{k}_word")
        self._register_file(joined(writes), joined(words))
        self.unused.append("run")

    def _register_file(self, write: str, words: str) -> None:
        """The registers, how many of them rotate, and the values they hold before the first cycle."""
        shape, bits = self.shape, rotating_bits(self.shape)
        self.body += [
            f"reg [{bits - 1}:0] rotating;" if bits > 1 else "reg rotating;",
            f"always @(posedge clk) if ({self._region(REGION_SETTING)}) rotating <= cfg_data[{bits - 1}:0];",
            *instance(
                "gl_registers", "file",
                {"W": self.width, "REGS": shape.registers, "COUNT_BITS": bits,
                 "OFFSET_BITS": offset_bits(self.hardware), "CHUNK": CHUNK},
                {"clk": "clk", "preset": self._region(REGION_REGISTER), "offset": "cfg_offset", "data": "cfg_data",
                 "turn_round": "last_slot", "rotating": "rotating", "write": write, "words": words, "held": "held"},
            ),
        ]  # fmt: skip

    def _element(self) -> None:
        """A processing element: wires, operands, function unit, result and stream ports."""
        shape, w = self.shape, self.width
        stage = self.parameters.stage_bits
        self.ports += [port("input", stage, "stage"), port("input", stage, "past")]
        self.ports += [port("input", 1, f"gate_{k}") for k in range(shape.gates)]
        self.ports += [port("input", w, name) for name in shape.inputs]
        self.ports += [port("output", w, name) for name in shape.outputs]
        self._storage_wires()
        self._wires()
        self._operands()
        self._function_unit()
        self._result()
        self._stream_ports()

    def _storage_wires(self) -> None:
        """The output register and the registers of a local file as signals."""
        shape, w = self.shape, self.width
        if "out" not in shape.outputs:
            self.body.append(wire(w, "out"))
        if shape.registers:
            self.ports.append(port("input", 1, "last_slot"))
            self.body.append(wire(shape.registers * w, "held"))
            for k in range(shape.registers):
                self.body.append(wire(w, f"r{k}", f"held[{(k + 1) * w - 1}:{k * w}]"))

    # -- wires --------------------------------------------------------------------------------------------------------

    def _wires(self) -> None:
        """The delayed versions of signals, and a multiplexer for each wire."""
        taps = sorted({source for mux in self.shape.muxes for source in mux.sources}, key=_tap_order)
        for source in taps:
            self._tap(source)
        for mux in self.shape.muxes:
            if mux.name not in self.shape.outputs:
                self.body += ring_wires([wire(self.width, mux.name)], mux.ring)
        for mux in self.shape.muxes:
            self._mux(mux)
        read = {source.signal for mux in self.shape.muxes for source in mux.sources} | set(self.shape.outputs)
        read |= {signal for wires in self.shape.register_wires for signal in wires}
        self.unused += [m.name for m in self.shape.muxes if m.name not in read and not m.name.startswith("in")]

    def _tap(self, source: Source) -> None:
        """The registers behind an arc that takes cycles, and the bypass of one that a setting switches."""
        name = _tap_name(source)
        if name == source.signal:
            return
        late = source.delay + (source.gate >= 0)
        self.body.append(wire(self.width, name))
        delayed = name if source.gate < 0 else f"{name}_late"
        if source.gate >= 0:
            self.body.append(wire(self.width, delayed))
        self.body += instance("gl_delay", f"{name}_stage", {"W": self.width, "CYCLES": late},
                              {"clk": "clk", "word": source.signal, "delayed": delayed})  # fmt: skip
        if source.gate >= 0:
            self.body.append(f"assign {name} = gate_{source.gate} ? {delayed} : {source.signal};")

    def _mux(self, mux: Mux) -> None:
        """The multiplexer of a wire; a plain connection where there is one source only."""
        words = [_tap_name(source) for source in mux.sources]
        if mux.idle:
            words.insert(0, f"{self.width}'d0")
        if not words:
            self.body.append(f"assign {mux.name} = {self.width}'d0;")
        elif len(words) == 1:
            self.body.append(f"assign {mux.name} = {words[0]};")
        else:
            self.body += instance(
                "gl_link_mux" if mux.ring else "gl_mux", f"{mux.name}_mux",
                {"W": self.width, "N": len(words), "SELECT_BITS": mux.select_bits},
                {"sources": joined(words), "select": self.field(f"{mux.name}.select"), "chosen": mux.name},
            )  # fmt: skip

    # -- operands and function unit -----------------------------------------------------------------------------------

    def _operands(self) -> None:
        """For each operand a FIFO per lane, where the tile has FIFOs, and the choice of the lane."""
        for k in range(self.shape.operands):
            lanes = [f"in{k}"] + [f"in{k}_lane_{lane}" for lane in range(1, self.shape.lanes)]
            waited = []
            for lane in lanes:
                waited.append(lane)
                if self.shape.fifo:
                    waited[-1] = f"{lane}_waited"
                    self.body.append(wire(self.width, waited[-1]))
                    self.body += instance(
                        "gl_fifo", f"{lane}_fifo",
                        {"W": self.width, "DEPTH": self.shape.fifo, "TAP_BITS": tap_bits(self.shape)},
                        {"clk": "clk", "word": lane, "tap": self.field(f"in{k}.tap"), "waited": waited[-1]},
                    )  # fmt: skip
            self.body.append(wire(self.width, f"operand_{k}", waited[0] if len(waited) == 1 else ""))
            if len(waited) > 1:
                self.body += instance(
                    "gl_mux", f"operand_{k}_mux",
                    {"W": self.width, "N": len(waited), "SELECT_BITS": bits_for(len(waited))},
                    {"sources": joined(waited), "select": self.field(f"in{k}.lane"), "chosen": f"operand_{k}"},
                )  # fmt: skip

    def _function_unit(self) -> None:
        """The instance of ``gl_pe``: firing window, operands and function unit."""
        shape, p, w = self.shape, self.parameters, self.width
        count = max(1, shape.operands)
        routed = [f"operand_{k}" if k < shape.operands else f"{w}'d0" for k in range(count)]
        streams = [f"stream_{k}_word" if k < shape.streams else f"{w}'d0" for k in range(count)]
        sources = [
            self.field(f"in{k}.source") if k < shape.streams else f"{{1'b0, {self.field(f'in{k}.source')}}}"
            for k in range(count)
        ]
        fires = [wire(1, "fire"), wire(1, "fired")] if self._keeps else [wire(1, "fire")]
        self.body += [*fires, wire(p.stage_bits, "firing"), wire(count, "stream_read"),
                      wire(count * w, "operands"), wire(w, "result")]  # fmt: skip
        for k in range(shape.streams):
            self.ports += [port("input", w, f"stream_{k}_word"), port("output", 1, f"stream_{k}_read")]
            self.body.append(f"assign stream_{k}_read = {bit('stream_read', k, count)};")
        names: dict[str, object] = {
            "W": w, "OPERANDS": count, "STAGE_BITS": p.stage_bits, "VALUES": p.values, "VALUE_BITS": value_bits(p),
            "COUNT_BITS": count_bits(p), "OFFSET_BITS": offset_bits(self.hardware), "CHUNK": CHUNK,
            "CMA": int(self.hardware.domain == "cma24"), "OPCODE_BITS": shape.opcode_bits,
            "OPS": f"128'h{shape.ops:x}",
        }  # fmt: skip
        connections = {
            "clk": "clk", "run": "run", "stage": "stage", "past": "past", "value_write": self._region(REGION_VALUE),
            "offset": "cfg_offset", "data": "cfg_data", "valid": self.field("valid"),
            "always_on": self.field("always"), "start": self.field("start"), "opcode": self.field("opcode"),
            "sources": joined(sources), "counts": joined([self.field(f"in{k}.count") for k in range(count)]),
            "bases": joined([self.field(f"in{k}.base") for k in range(count)]), "routed": joined(routed),
            "streams": joined(streams), "is_load": "1'b0", "loaded": f"{w}'d0",
            "fire": "fired" if self._keeps else "fire", "firing": "firing", "stream_read": "stream_read",
            "operands": "operands", "result": "result",
        }  # fmt: skip
        if shape.memory:
            connections |= {"is_load": f"{self.field('access')} == 2'd1", "loaded": "memory_loaded"}
            self._memory_port(count)
        self.body += instance("gl_pe", "pe", names, connections)
        self._busy()
        self.unused += ["firing", "operands", "stream_read"]

    @property
    def _keeps(self) -> bool:
        """Whether some op keeps the function unit for several cycles."""
        return bool(self.shape.keeps) or self.shape.keeps_access > 1

    def _busy(self) -> None:
        """The cycles for which the function unit is busy yet: in them it takes no op, and what is issued is lost."""
        if not self._keeps:
            return
        longest = max([self.shape.keeps_access, *(cycles for _, cycles in self.shape.keeps)])
        bits = longest.bit_length()
        opcode = f"{OPCODES}'d1 << {self.field('opcode')}"
        cases = [(f"|({OPCODES}'h{mask:x} & ({opcode}))", cycles) for mask, cycles in self.shape.keeps]
        if self.shape.memory:
            # An access has the opcode of a move.
            cases.insert(0, ("access != 2'd0", self.shape.keeps_access))
        after = "".join(f"{test} ? {bits}'d{cycles - 1} : " for test, cycles in cases)
        self.body += [
            f"reg [{bits - 1}:0] busy;",
            "assign fire = fired && busy == 0;",
            "always @(posedge clk)",
            f"    if (!run) busy <= {bits}'d0;",
            f"    else if (fire) busy <= {after}{bits}'d0;",
            f"    else if (busy != 0) busy <= busy - {bits}'d1;",
        ]

    def _memory_port(self, operands: int) -> None:
        """Address and data of a load or store; a spill's address counts firings in a buffer of a power of two."""
        w, bits = self.width, self.hardware.address_bits
        turns = self.hardware.turn_bits
        self.ports += [
            port("input", turns, "turn"), port("output", 1, "memory_ask"), port("output", 1, "memory_store"),
            port("output", bits, "memory_address"), port("output", w, "memory_word"),
            port("input", w, "memory_loaded"),
        ]  # fmt: skip
        stage = self.parameters.stage_bits
        # A spill's index counts firings from the first one, hence the round less the start.
        low = _fit("start_stage", stage, turns)
        index = _fit("operand_word_0", w, bits)
        second = f"operands[{2 * w - 1}:{w}]" if operands > 1 else f"{w}'d0"
        third = f"operands[{3 * w - 1}:{2 * w}] != {w}'d0" if operands > 2 else "1'b1"
        self.body += [
            wire(2, "access", self.field("access")),
            wire(stage, "start_stage", self.field("start")),
            wire(turns, "spill_index", f"(turn - {low}) & {self.field('mask')}"),
            wire(w, "operand_word_0", f"operands[{w - 1}:0]"),
            f"assign memory_ask = fire && (access == 2'd1 || access == 2'd2 || (access == 2'd3 && {third}));",
            "assign memory_store = access[1];",
            f"assign memory_address = {self.field('address')} + ({self.field('spill')} ? "
            f"{_fit('spill_index', turns, bits)} : {index});",
            f"assign memory_word = {self.field('spill')} ? operand_word_0 : {second};",
        ]
        self.unused += ["start_stage"] if stage > turns else []
        self.unused += ["spill_index"] if turns > bits else []

    # -- results ------------------------------------------------------------------------------------------------------

    def _result(self) -> None:
        """The output register behind the function unit, and who else takes the result."""
        shape, w = self.shape, self.width
        if shape.latency == 0:
            self.body.append("assign out = result;")
            self.unused += ["fire", self.field("write")]
        else:
            self.body += [wire(1, "done"), wire(w, "done_word")]
            self.body += instance(
                "gl_result", "output_register",
                {"W": w, "LATENCY": shape.latency, "LATENCY_BITS": max(1, bits_for(shape.latency))},
                {
                    "clk": "clk", "rst": "rst", "write": f"fire && {self.field('write')}",
                    "latency": self.field("latency"), "word": "result", "done": "done", "done_word": "done_word",
                    "out": "out",
                },
            )  # fmt: skip
        if shape.registers:
            self._register_file(*self._writes())
        if shape.exports:
            self.ports += [port("output", 1, "result_done"), port("output", w, "result_word")]
            self.body += ["assign result_done = done;", "assign result_word = done_word;"]
        # Nobody outside takes the finished result; the output register itself holds it.
        elif shape.latency and not shape.registers:
            self.unused += ["done", "done_word"]
        if not any(s.signal == "out" for m in shape.muxes for s in m.sources) and "out" not in shape.outputs:
            self.unused.append("out")

    def _writes(self) -> tuple[str, str]:
        """The write bits of the local registers and the words that they take."""
        shape, w = self.shape, self.width
        if not shape.register_wires:
            write = joined([f"done && {self.field(f'r{k}.write')}" for k in range(shape.registers)])
            return write, f"{{{shape.registers}{{done_word}}}}"
        for k in range(shape.registers):
            choices = shape.write_choices(k)
            bits = bits_for(choices)
            self.body += [
                wire(bits, f"r{k}_select", self.field(f"r{k}.write")),
                wire(1, f"r{k}_write", f"r{k}_select == {bits}'d1 ? done : r{k}_select != {bits}'d0"),
                wire(w, f"r{k}_word"),
            ]
            words = ["done_word", "done_word", *shape.register_wires[k]]
            self.body += instance(
                "gl_mux", f"r{k}_word_mux", {"W": w, "N": choices, "SELECT_BITS": bits},
                {"sources": joined(words), "select": f"r{k}_select", "chosen": f"r{k}_word"},
            )  # fmt: skip
        registers = range(shape.registers)
        return joined([f"r{k}_write" for k in registers]), joined([f"r{k}_word" for k in registers])

    def _stream_ports(self) -> None:
        """The port through which results leave the array."""
        if self.shape.emits:
            self.ports += [port("output", 1, "emit_valid"), port("output", self.width, "emit_word")]
            self.body += [f"assign emit_valid = fire && {self.field('emit')};", "assign emit_word = result;"]


def _fit(name: str, width: int, wanted: int) -> str:
    """A signal, cut to a width or extended to it with zeros.

    >>> _fit("a", 8, 8), _fit("a", 8, 4), _fit("a", 4, 8)
    ('a', 'a[3:0]', "{4'd0, a}")
    """
    if width == wanted:
        return name
    return f"{name}[{wanted - 1}:0]" if width > wanted else f"{{{wanted - width}'d0, {name}}}"


def _tap_name(source: Source) -> str:
    """The signal that a multiplexer reads for a source: the signal itself, or its delayed or gated version."""
    if source.gate >= 0:
        return f"{source.signal}_gate_{source.gate}"
    return f"{source.signal}_{source.delay}_late" if source.delay else source.signal


def _tap_order(source: Source) -> tuple[str, int, int]:
    return source.signal, source.delay, source.gate
