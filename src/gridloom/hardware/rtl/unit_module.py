"""The Verilog module of a unit: instances of the primitives, wired as the shape says.

The generated part is wiring only. A processing element reads, from left to right: delay registers of late arcs, one
multiplexer per wire, operand FIFOs with the choice of the lane, ``gl_pe`` (firing window, initial values, operands),
``gl_units`` (function units, memory access), and the output register with what else takes the result. The context word
of the current slot drives all selects at once. Those of the next slot (``next``) and of the one after it (``soon``) are
known ahead, so that whether a slot fires and which stored words it reads is decided before its cycle begins.

``unused`` collects signals that nothing reads in this shape and names them in one dead expression, which keeps lint
tools silent without switching a warning off.
"""

from __future__ import annotations

from gridloom.hardware.parameters import FLOATS, OPCODES, bits_for
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
from gridloom.hardware.rtl.memory_port import memory_port
from gridloom.hardware.rtl.register_names import has_names, place_bits, select_lines
from gridloom.hardware.rtl.shapes import Mux, MuxInput, Shape
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.rtl.text import bit, concatenate, instance, module, port, ring_port, ring_wires, wire
from gridloom.hardware.rtl.unit_parts import front_lines, port_lines, register_lines


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
        #: Bits of a word, and of the words of all SIMD lanes together: all that wires, FIFOs and registers know.
        self.word, self.width = hardware.width, hardware.vector_width
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
        return module(name, [f"{len(places)} of {self.hardware.arch.name}: {shown}"], self.ports, self.body)

    # -- configuration ------------------------------------------------------------------------------------------------

    def _chain(self) -> None:
        """The link of the configuration chain, and the packets that are for this unit."""
        offset = offset_bits(self.hardware)
        bits = packet_bits(self.hardware)
        # A port and not a parameter: units of one shape are one module to the synthesiser, which then maps it once.
        self.ports += [port("input", 1, "clk"), port("input", 1, "rst"), port("input", self.hardware.id_bits, "number")]
        for name, direction in (("in", "input"), ("out", "output")):
            self.ports += [port(direction, 1, f"cfg_valid_{name}"), port(direction, bits, f"cfg_packet_{name}")]
        self.body += [
            wire(1, "cfg_write"), wire(2, "cfg_region"), wire(offset, "cfg_offset"), wire(CHUNK, "cfg_data"),
            *instance(
                "gl_config_port", "chain",
                {"ID_BITS": self.hardware.id_bits, "OFFSET_BITS": offset, "CHUNK": CHUNK},
                {
                    "clk": "clk", "rst": "rst", "number": "number", "valid_in": "cfg_valid_in",
                    "packet_in": "cfg_packet_in", "valid_out": "cfg_valid_out", "packet_out": "cfg_packet_out",
                    "write": "cfg_write", "region": "cfg_region", "offset": "cfg_offset", "data": "cfg_data",
                },
            ),
        ]  # fmt: skip

    def _region(self, number: int) -> str:
        """The condition under which a packet of the chain is a write to one region of this unit."""
        return f"cfg_write && cfg_region == 2'd{number}"

    def _context(self) -> None:
        """The context memory, whose word of the current slot is ``word``."""
        slots = self.hardware.slot_bits
        self.ports += [port("input", 1, "run"), port("input", slots, "soon_slot")]
        names = {"BITS": self.layout.bits, "CONTEXTS": self.shape.contexts, "SLOT_BITS": slots,
                 "OFFSET_BITS": offset_bits(self.hardware), "CHUNK": CHUNK}  # fmt: skip
        connections = {"clk": "clk", "write": self._region(REGION_CONTEXT), "offset": "cfg_offset", "data": "cfg_data",
                       "soon_slot": "soon_slot", "soon": "soon", "next": "next",
                       "word": "word"}  # fmt: skip
        self.body += [wire(self.layout.bits, name) for name in ("soon", "next", "word")]
        self.body += instance("gl_context_memory", "contexts", names, connections)
        self.unused += ["soon", "next", "word"]

    def field(self, name: str, word: str = "word") -> str:
        """Return the bits of a field of the present slot as Verilog; 0 where the unit has no such field."""
        if name not in self.fields:
            return "1'b0"
        place = self.fields[name]
        if self.layout.bits == 1:
            return word
        last = place.offset + place.width - 1
        return f"{word}[{last}:{place.offset}]" if place.width > 1 else f"{word}[{place.offset}]"

    def next_field(self, name: str) -> str:
        """Return the bits of a field of the next cycle's slot as Verilog; 0 where the unit has no such field."""
        return self.field(name, "next")

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
        if shape.write_ports:
            results = [(_part("done_words", k, w), bit("done", k, shape.writers)) for k in range(shape.writers)]
            self._register_file(*self._by_ports([results] * len(shape.write_ports)))
            self.unused.append("run")
            return
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
        self._register_file(concatenate(writes), concatenate(words))
        self.unused.append("run")

    def _register_file(self, write: str, words: str) -> None:
        """The registers, how many of them rotate, and the values they hold before the first cycle."""
        shape, bits = self.shape, rotating_bits(self.shape)
        names: dict[str, object] = {"W": self.width, "REGS": shape.registers, "COUNT_BITS": bits,
                                    "OFFSET_BITS": offset_bits(self.hardware), "CHUNK": CHUNK}  # fmt: skip
        connections = {"clk": "clk", "preset": self._region(REGION_REGISTER), "offset": "cfg_offset",
                       "data": "cfg_data", "turn_round": "last_slot", "rotating": "rotating", "write": write,
                       "held": "held"}  # fmt: skip
        if has_names(shape):
            names |= {"PLACE_BITS": place_bits(shape)}
            connections |= {"rst": "rst", "word": "done_word", "places": "places"}
        else:
            connections |= {"words": words}
        self.body += [
            f"reg [{bits - 1}:0] rotating;" if bits > 1 else "reg rotating;",
            f"always @(posedge clk) if ({self._region(REGION_SETTING)}) rotating <= cfg_data[{bits - 1}:0];",
            *instance("gl_named_registers" if has_names(shape) else "gl_registers", "file", names, connections),
        ]

    def _element(self) -> None:
        """A processing element: wires, operands, function unit, result and stream ports."""
        shape, w = self.shape, self.width
        stage = self.parameters.stage_bits
        self.ports += [port("input", stage, "soon_stage"), port("input", stage, "soon_past")]
        self.ports += [port("input", 1, f"gate_{k}") for k in range(shape.gates)]
        self.ports += [port("input", w, name) for name in shape.inputs]
        rings = {mux.name for mux in shape.muxes if mux.ring}
        self.ports += [ring_port(port("output", w, name), name in rings) for name in shape.outputs]
        self._storage_wires()
        self._wires()
        self._operands()
        self._front()
        self._issue()
        self._function_units()
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
            if has_names(shape):
                self.body.append(wire(shape.registers * place_bits(shape), "places"))
            for k in range(shape.registers):
                self.body.append(wire(w, f"r{k}", f"held[{(k + 1) * w - 1}:{k * w}]"))

    # -- wires --------------------------------------------------------------------------------------------------------

    def _wires(self) -> None:
        """The delayed versions of signals, and a multiplexer for each wire."""
        taps = {source for mux in self.shape.muxes for source in mux.sources} - set(self.shape.gated_outputs)
        for source in sorted(taps, key=_tap_order):
            self._tap(source)
        for mux in self.shape.muxes:
            if mux.name not in self.shape.outputs:
                self.body += ring_wires([wire(self.width, mux.name)], mux.ring)
        for mux in self.shape.muxes:
            self._mux(mux)
        for source in self.shape.gated_outputs:
            self._tap(source)
        read = {source.signal for mux in self.shape.muxes for source in mux.sources} | set(self.shape.outputs)
        read |= {source.signal for source in self.shape.gated_outputs}
        read |= {signal for wires in self.shape.register_wires + self.shape.write_ports for signal in wires}
        self.unused += [m.name for m in self.shape.muxes if m.name not in read and not m.name.startswith("in")]

    def _tap(self, source: MuxInput) -> None:
        """The registers behind an arc that takes cycles, and the bypass of one that a setting switches."""
        name = source.name
        if name == source.signal:
            return
        late = source.delay + (source.gate >= 0)
        if name not in self.shape.outputs:
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
        words = [source.name for source in mux.sources]
        if mux.idle:
            words.insert(0, f"{self.width}'d0")
        if not words:
            self.body.append(f"assign {mux.name} = {self.width}'d0;")
        elif len(words) == 1:
            self.body.append(f"assign {mux.name} = {words[0]};")
        else:
            select = self.field(f"{mux.name}.select")
            if has_names(self.shape):
                lines, named = select_lines(self.shape, mux, self.next_field(f"{mux.name}.select"))
                self.body += lines
                select = named or select
            self.body += instance(
                "gl_link_mux" if mux.ring else "gl_mux", f"{mux.name}_mux",
                {"W": self.width, "N": len(words), "SELECT_BITS": mux.select_bits},
                {"sources": concatenate(words), "select": select, "chosen": mux.name},
            )  # fmt: skip

    # -- operands and function unit -----------------------------------------------------------------------------------

    def _operands(self) -> None:
        """For each operand the word that arrives, and the one that its FIFO will have ready in the next cycle."""
        for k in range(self.shape.operands):
            lanes = [f"in{k}"] + [f"in{k}_lane_{lane}" for lane in range(1, self.shape.lanes)]
            self._lane(f"arrived_{k}", lanes, self.field(f"in{k}.lane"))
            if not self.shape.depth(k):
                self.body.append(wire(self.width, f"late_{k}", f"{self.width}'d0"))
                continue
            late = [f"{lane}_late" for lane in lanes]
            for lane, name in zip(lanes, late):
                self.body.append(wire(self.width, name))
                self.body += instance(
                    "gl_fifo",
                    f"{lane}_fifo",
                    {"W": self.width, "DEPTH": self.shape.depth(k), "TAP_BITS": tap_bits(self.shape, k)},
                    {"clk": "clk", "rst": "rst", "word": lane, "next_tap": self.next_field(f"in{k}.tap"), "late": name},
                )
            self._lane(f"late_{k}", late, self.next_field(f"in{k}.lane"))

    def _lane(self, name: str, words: list[str], select: str) -> None:
        """The choice between the lanes of an operand; a plain connection where there is one lane."""
        self.body.append(wire(self.width, name, words[0] if len(words) == 1 else ""))
        if len(words) > 1:
            self.body += instance(
                "gl_mux", f"{name}_mux", {"W": self.width, "N": len(words), "SELECT_BITS": bits_for(len(words))},
                {"sources": concatenate(words), "select": select, "chosen": name},
            )  # fmt: skip

    def _front(self) -> None:
        """The instance of ``gl_pe``, or of ``gl_simd_pe`` for several lanes: firing window and operands."""
        shape, p, w = self.shape, self.parameters, self.width
        count = max(1, shape.operands)
        given = range(count)
        arrived, late = (
            [f"{name}_{k}" if k < shape.operands else f"{w}'d0" for k in given] for name in ("arrived", "late")
        )
        streams = [f"stream_{k}_word" if k < shape.streams else f"{w}'d0" for k in given]
        sources = [
            self.next_field(f"in{k}.source") if k < shape.streams else f"{{1'b0, {self.next_field(f'in{k}.source')}}}"
            for k in given
        ]
        waits = [
            f"{self.next_field(f'in{k}.tap')} != 0" if k < shape.operands and shape.depth(k) else "1'b0" for k in given
        ]
        fires = [wire(1, "fire"), wire(1, "fired_window")] if self._keeps else [wire(1, "fire")]
        self.body += [*fires, wire(count, "stream_read"), wire(count * w, "operands")]
        for k in range(shape.streams):
            self.ports += [port("input", w, f"stream_{k}_word"), port("output", 1, f"stream_{k}_read")]
            self.body.append(f"assign stream_{k}_read = {bit('stream_read', k, count)};")
        if shape.wired:
            self.body.append(wire(p.stage_bits, "next_firing"))
            self.body += front_lines(shape, w, p.stage_bits, "fired_window" if self._keeps else "fire", self.field)
            self._busy()
            self.unused += ["operands", "stream_read", "next_firing", *(f"late_{k}" for k in range(shape.operands))]
            return
        names: dict[str, object] = {
            "W": self.word, **self._lanes, "OPERANDS": count, "STREAMS": shape.streams, "STAGE_BITS": p.stage_bits,
            "VALUES": shape.words(p), "VALUE_BITS": value_bits(shape, p), "COUNT_BITS": count_bits(shape, p),
            "OFFSET_BITS": offset_bits(self.hardware), "CHUNK": CHUNK,
            "WAITS": f"32'd{sum(1 << k for k in range(shape.operands) if shape.depth(k))}",
        }  # fmt: skip
        connections = {
            "clk": "clk",
            "run": "run",
            "soon_stage": "soon_stage",
            "soon_past": "soon_past",
            "value_write": self._region(REGION_VALUE),
            "offset": "cfg_offset",
            "data": "cfg_data",
            "soon_valid": self.field("valid", "soon"),
            "soon_always": self.field("always", "soon"),
            "soon_start": self.field("start", "soon"),
            "next_sources": concatenate(sources),
            "next_counts": concatenate([self.next_field(f"in{k}.count") for k in given]),
            "next_bases": concatenate([self.next_field(f"in{k}.base") for k in given]),
            "next_waits": concatenate(waits),
            "arrived": concatenate(arrived),
            "late": concatenate(late),
            "streams": concatenate(streams),
            "fire": "fired_window" if self._keeps else "fire",
            "stream_read": "stream_read",
            "operands": "operands",
        }
        self.body += instance("gl_simd_pe" if self._lanes else "gl_pe", "pe", names, connections)
        self._busy()
        self.unused += ["operands", "stream_read"]

    def _issue(self) -> None:
        """The registers between the operands and the function units, where every op has two cycles or more.

        ``issue``, ``issue_operands`` and ``issue_word`` are the firing, its operands and its context behind them.
        """
        self._controls()
        names = {"fire": 1, "operands": max(1, self.shape.operands) * self.width, "word": self.layout.bits,
                 "controls": 10}  # fmt: skip
        if self.shape.memory:
            names["turn"] = self.hardware.turn_bits
        for name, width in names.items():
            late = "issue" if name == "fire" else f"issue_{name}"
            self.body.append(wire(width, late, "" if self.shape.issue else name))
            if self.shape.issue:
                self.body += instance("gl_delay", f"{late}_stage", {"W": width, "CYCLES": 1},
                                      {"clk": "clk", "word": name, "delayed": late})  # fmt: skip
        self.unused += ["issue", "issue_operands", "issue_word"]

    def _controls(self) -> None:
        """What the opcode switches in the function unit, decoded a cycle ahead."""
        self.body.append(wire(10, "controls", "10'd0" if self.hardware.domain == "cma24" else ""))
        if self.hardware.domain == "cma24":
            return
        shape = self.shape
        self.body.append(wire(10, "next_controls"))
        self.body += instance(
            "gl_controls", "decoder",
            {"OPCODE_BITS": shape.opcode_bits, "PRODUCT": int(not shape.product), "DIVISION": int(not shape.division),
             "OPS": f"128'h{shape.ops & ~FLOATS:x}"},
            {"opcode": self.next_field("opcode"), "controls": "next_controls"},
        )  # fmt: skip
        self.body += instance("gl_delay", "controls_stage", {"W": 10, "CYCLES": 1},
                              {"clk": "clk", "word": "next_controls", "delayed": "controls"})  # fmt: skip

    def issue_field(self, name: str) -> str:
        """Return the bits of a field of the slot whose op is in the function units as Verilog."""
        return self.field(name, "issue_word")

    def _function_units(self) -> None:
        """The instance of ``gl_units``: what is computed from the operands, or comes from memory, and when."""
        shape, w = self.shape, self.width
        count = max(1, shape.operands)
        taken = [f"issue_operands[{(k + 1) * w - 1}:{k * w}]" if k < count else f"{w}'d0" for k in range(3)]
        self.body += [wire(5, "unit_writes"), wire(5 * self._latency_bits, "unit_latencies"),
                      wire(5 * w, "unit_words"), wire(1, "fired"), wire(w, "settled")]  # fmt: skip
        loads = {"is_load": "1'b0", "loaded": f"{w}'d0"}
        if shape.memory:
            loads = {"is_load": f"{self.issue_field('access')} == 2'd1", "loaded": "memory_loaded"}
            self._memory_port()
        names: dict[str, object] = {
            "W": self.word, **self._lanes, "CMA": int(self.hardware.domain == "cma24"),
            "OPCODE_BITS": shape.opcode_bits, "LATENCY_BITS": self._latency_bits, "PRODUCT": shape.product,
            "DIVISION": shape.division, "DIVIDES_IN": shape.divides_in, "LOAD": shape.load,
            "SETTLE": shape.settle - shape.issue, "READY": shape.issue, "OPS": f"128'h{shape.ops & ~FLOATS:x}",
        }  # fmt: skip
        if shape.floats:
            names |= {"SINGLE": shape.single, "FLOATS": f"128'h{shape.floats:x}"}
        connections = {
            "clk": "clk", "fire": "issue", "write": self.issue_field("write"), **loads, "latency": self._latency,
            "opcode": self.issue_field("opcode"), "controls": "issue_controls", "a": taken[0],
            "b": taken[1], "c": taken[2], "writes": "unit_writes", "latencies": "unit_latencies",
            "words": "unit_words", "fired": "fired", "settled": "settled",
        }  # fmt: skip
        self.body += instance("gl_simd_units" if self._lanes else "gl_units", "units", names, connections)
        self.unused += ["fired", "settled", "unit_writes", "unit_latencies", "unit_words"]

    @property
    def _lanes(self) -> dict[str, object]:
        """The parameter of primitives that compute in several SIMD lanes; none where there is one lane."""
        lanes = self.hardware.simd_lanes
        return {"LANES": lanes} if lanes > 1 else {}

    @property
    def _latency_bits(self) -> int:
        return max(1, bits_for(self.shape.latency))

    @property
    def _latency(self) -> str:
        """The cycles from the function units to the output register, less 1; the context counts them from the issue."""
        if self.shape.latency <= 1:
            return "1'b0"
        given = self.issue_field("latency")
        return f"{given} - {self._latency_bits}'d1" if self.shape.issue else given

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
            "assign fire = fired_window && busy == 0;",
            "always @(posedge clk)",
            f"    if (!run) busy <= {bits}'d0;",
            f"    else if (fire) busy <= {after}{bits}'d0;",
            f"    else if (busy != 0) busy <= busy - {bits}'d1;",
        ]

    def _memory_port(self) -> None:
        """Address and data of a load or store."""
        ports, lines, unused = memory_port(self.hardware, self.shape, self.issue_field)
        self.ports += ports
        self.body += lines
        self.unused += unused

    # -- results ------------------------------------------------------------------------------------------------------

    def _result(self) -> None:
        """The output register behind the function unit, and who else takes the result."""
        shape, w = self.shape, self.width
        if shape.latency == 0:
            self.body.append("assign out = settled;")
            self.unused += ["fire", self.field("write")]
        else:
            self.body += [wire(1, "done"), wire(w, "done_word")]
            self.body += instance(
                "gl_result", "output_register",
                {"W": w, "PORTS": 5, "LATENCY": shape.stages, "LATENCY_BITS": self._latency_bits},
                {
                    "clk": "clk", "rst": "rst", "write": "unit_writes", "latency": "unit_latencies",
                    "words": "unit_words", "done": "done", "done_word": "done_word", "out": "out",
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
        taken = [s for m in shape.muxes for s in m.sources] + list(shape.gated_outputs)
        if not any(s.signal == "out" for s in taken) and "out" not in shape.outputs:
            self.unused.append("out")

    def _writes(self) -> tuple[str, str]:
        """The write bits of the local registers and the words that they take."""
        shape, w = self.shape, self.width
        if shape.write_ports:
            ports = [[("done_word", "done"), *((name, "1'b1") for name in wires)] for wires in shape.write_ports]
            return self._by_ports(ports)
        if not shape.register_wires:
            write = concatenate([f"done && {self.field(f'r{k}.write')}" for k in range(shape.registers)])
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
                {"sources": concatenate(words), "select": f"r{k}_select", "chosen": f"r{k}_word"},
            )  # fmt: skip
        registers = range(shape.registers)
        return concatenate([f"r{k}_write" for k in registers]), concatenate([f"r{k}_word" for k in registers])

    def _by_ports(self, ports: list[list[tuple[str, str]]]) -> tuple[str, str]:
        """The same where registers are written by ports, each of which chooses one of these words."""
        self.body += port_lines(ports, self.width, self.field)
        lines, writes, words = register_lines(self.shape.registers, len(ports), self.width, self.field)
        self.body += lines
        return writes, words

    def _stream_ports(self) -> None:
        """The port through which results leave the array."""
        if not self.shape.emits:
            return
        self.ports += [port("output", 1, "emit_valid"), port("output", self.width, "emit_word")]
        self.body += [wire(1, "emits", f"issue && {self.issue_field('emit')}"), "assign emit_word = settled;"]
        settle = self.shape.settle - self.shape.issue
        if settle:
            self.body += instance("gl_delay", "emit_stage", {"W": 1, "CYCLES": settle},
                                  {"clk": "clk", "word": "emits", "delayed": "emit_valid"})  # fmt: skip
        else:
            self.body.append("assign emit_valid = emits;")


def _part(name: str, k: int, width: int) -> str:
    """Word k of a bundle of words."""
    return f"{name}[{(k + 1) * width - 1}:{k * width}]"


def _tap_order(source: MuxInput) -> tuple[str, int, int]:
    return source.signal, source.delay, source.gate
