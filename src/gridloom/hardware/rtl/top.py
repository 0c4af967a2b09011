"""The structural top module: units, wires with the array's names, the configuration chain, buses and the sequencer.

Wires and instances carry the names of the array's resources and tiles, made into identifiers by ``names``, so that a
waveform can be read with the array's picture beside it. The configuration chain runs through the units in the order of
their numbers: each hands every packet on one cycle later, so the last unit is configured as many cycles after the last
packet as there are units. Ports for streams, emitted results and memory exist only where a unit has them.
"""

from __future__ import annotations

from gridloom.archs.model import Kind
from gridloom.hardware.parameters import words_text
from gridloom.hardware.rtl.layout import CHUNK, offset_bits
from gridloom.hardware.rtl.shapes import Bus, Unit
from gridloom.hardware.rtl.structure import Hardware, bank_bits
from gridloom.hardware.rtl.text import bit, concatenate, instance, module, port, ring_wires, wire
from gridloom.hardware.rtl.unit_module import packet_bits

TOP = "gridloom_array"


def top_module(hardware: Hardware) -> str:
    """Return the Verilog of the array's top module. Linear in its units and links."""
    return _Top(hardware).text()


class _Top:
    """Builds the text of the top module part by part; ``ports`` and ``body`` grow in the order of the text."""

    def __init__(self, hardware: Hardware) -> None:
        self.hardware = hardware
        self.names = hardware.verilog_names
        self.width, self.lanes = hardware.vector_width, hardware.simd_lanes
        self.ports: list[str] = []
        self.body: list[str] = []
        self.bus_of = {tile: bus for bus in hardware.buses for tile in bus.units}

    def text(self) -> str:
        """Return the whole module."""
        self._control()
        self._wires()
        for unit in self.hardware.units:
            self._unit(unit)
        for number, bus in enumerate(self.hardware.buses):
            self._bus_ports(bus)
            if bus.bank < 0:
                self._bus(number)
        for number in range(len(self.hardware.arch.banks) if self.hardware.buses else 0):
            self._bank(number)
        self._end_of_chain()
        arch = self.hardware.arch
        comment = [f"Array {arch.name}: {len(arch.tiles)} tiles, {words_text(self.hardware.width, self.lanes)}."]
        return module(TOP, comment, self.ports, self.body)

    def _control(self) -> None:
        """The ports of the array as a whole, and the sequencer."""
        h = self.hardware
        slots, stage, packet = h.slot_bits, h.parameters.stage_bits, packet_bits(h)
        settings = max(1, h.setting_bits)
        self.ports += [
            port("input", 1, "clk"), port("input", 1, "rst"),
            port("input", 1, "cfg_valid"), port("input", packet, "cfg_packet"),
            port("input", 1, "run"), port("input", 32, "iterations"), port("output", 1, "finished"),
            port("output", slots, "slot"),
        ]  # fmt: skip
        self.body += [
            wire(slots, "soon_slot"), wire(stage, "soon_stage"), wire(stage, "soon_past"), wire(h.turn_bits, "turn"),
            wire(1, "last_slot"), wire(settings, "settings"), *self._chain_wires(0),
        ]  # fmt: skip
        self.body += instance(
            "gl_sequencer", "sequencer",
            {"ID": 0, "ID_BITS": h.id_bits, "SLOT_BITS": slots, "STAGE_BITS": stage, "TURN_BITS": h.turn_bits,
             "SETTING_BITS": settings, "OFFSET_BITS": offset_bits(h), "CHUNK": CHUNK},
            {
                "clk": "clk", "rst": "rst", "cfg_valid_in": "cfg_valid", "cfg_packet_in": "cfg_packet",
                "cfg_valid_out": "chain_0_valid", "cfg_packet_out": "chain_0", "run": "run",
                "iterations": "iterations", "soon_slot": "soon_slot", "slot": "slot", "soon_stage": "soon_stage",
                "soon_past": "soon_past", "turn": "turn",
                "last_slot": "last_slot", "settings": "settings", "done": "finished",
            },
        )  # fmt: skip

    def _chain_wires(self, number: int) -> list[str]:
        return [wire(1, f"chain_{number}_valid"), wire(packet_bits(self.hardware), f"chain_{number}")]

    def _wire(self, resource: int) -> str:
        return self.names[self.hardware.arch.resource_names[resource]]

    def _wires(self) -> None:
        """A wire for each output of a unit, with the name of its resource."""
        rings = self.hardware.has_rings
        for unit in self.hardware.units:
            self.body += ring_wires([wire(self.width, self._wire(resource)) for resource in unit.outputs], rings)
            if unit.shape.exports:
                name = self.names[unit.name]
                self.body += [wire(1, f"{name}_done"), wire(self.width, f"{name}_result")]

    def _unit(self, unit: Unit) -> None:
        """The instance of a unit with its link of the configuration chain."""
        name = self.names[unit.name]
        self.body += ["", *self._chain_wires(unit.id)]
        ports = {
            "clk": "clk", "rst": "rst", "number": f"{self.hardware.id_bits}'d{unit.id}",
            "cfg_valid_in": f"chain_{unit.id - 1}_valid", "cfg_packet_in": f"chain_{unit.id - 1}",
            "cfg_valid_out": f"chain_{unit.id}_valid", "cfg_packet_out": f"chain_{unit.id}",
        }  # fmt: skip
        if unit.shape.kind == "const":
            ports["word"] = self._wire(unit.outputs[0]) if unit.outputs else ""
        elif unit.shape.kind == "file":
            ports |= self._file_ports(unit)
        else:
            ports |= self._element_ports(unit, name)
        self.body += instance(self.hardware.variants[unit.shape], name, {}, ports)

    def _file_ports(self, unit: Unit) -> dict[str, str]:
        """Connections of the central register file: results of the tiles that write it, and its registers."""
        writers = [self.names[self.hardware.arch.tiles[tile].name] for tile in unit.inputs]
        return {
            "run": "run", "soon_slot": "soon_slot", "last_slot": "last_slot",
            "done": concatenate([f"{name}_done" for name in writers]),
            "done_words": concatenate([f"{name}_result" for name in writers]),
            "held": concatenate([self._wire(r) for r in unit.registers]),
        }  # fmt: skip

    def _element_ports(self, unit: Unit, name: str) -> dict[str, str]:
        """Connections of a tile: control, gates, wires, streams, results and memory."""
        shape = unit.shape
        ports = {"run": "run", "soon_slot": "soon_slot", "soon_stage": "soon_stage", "soon_past": "soon_past"}
        ports |= {
            f"gate_{k}": bit("settings", number, self.hardware.setting_bits) for k, number in enumerate(unit.gates)
        }
        if shape.registers:
            ports["last_slot"] = "last_slot"
        ports |= {local: self._wire(r) for local, r in zip(shape.inputs, unit.inputs)}
        ports |= {local: self._wire(r) for local, r in zip(shape.outputs, unit.outputs)}
        for k in range(shape.streams):
            for suffix, direction, width in (("word", "input", self.width), ("read", "output", 1)):
                self.ports.append(port(direction, width, f"{name}_stream_{k}_{suffix}"))
                ports[f"stream_{k}_{suffix}"] = f"{name}_stream_{k}_{suffix}"
        if shape.emits:
            self.ports += [port("output", 1, f"{name}_emit_valid"), port("output", self.width, f"{name}_emit_word")]
            ports |= {"emit_valid": f"{name}_emit_valid", "emit_word": f"{name}_emit_word"}
        if shape.exports:
            ports |= {"result_done": f"{name}_done", "result_word": f"{name}_result"}
        if shape.memory:
            ports |= self._memory_ports(unit, name)
        return ports

    def _memory_ports(self, unit: Unit, name: str) -> dict[str, str]:
        """Connections of a tile's memory port, with wires to its bus, or to the banks that it reaches."""
        w, bits = self.width, self.hardware.address_bits
        local = {"ask": self.lanes, "store": 1, "address": self.lanes * bits, "word": w}
        self.body += [wire(width, f"{name}_memory_{part}") for part, width in local.items()]
        ports = {f"memory_{part}": f"{name}_memory_{part}" for part in local}
        return ports | {"memory_loaded": self._loaded(unit.tile, name), "turn": "turn"}

    def _loaded(self, tile: int, name: str) -> str:
        """What a load of a tile gets: the word on its bus, or that of the bank which answers."""
        if not self.hardware.arch.banks:
            return f"{self.bus_of[tile].name}_loaded"
        reached = [b for b, bank in enumerate(self.hardware.arch.banks) if tile in bank.tiles]
        self.body += [wire(self.width, f"{name}_bank_{b}_answer") for b in reached]
        return " | ".join(f"{name}_bank_{b}_answer" for b in reached)

    def _bank(self, number: int) -> None:
        """The instance of a memory bank between the tiles that reach it and its ports."""
        bank, h = self.hardware.arch.banks[number], self.hardware
        ports = [bus.name for bus in h.buses if bus.bank == number]
        members = [self.names[h.arch.tiles[tile].name] for tile in bank.tiles]
        asked = {
            "ask" if part == "ask" else f"ask_{part}": concatenate([f"{name}_memory_{part}" for name in members])
            for part in ("ask", "store", "address", "word")
        }
        served = {part: concatenate([f"{name}_{part}" for name in ports])
                  for part in ("request", "store", "address", "word", "loaded")}  # fmt: skip
        answer = {"answer": concatenate([f"{name}_bank_{number}_answer" for name in members])}
        sizes = {"W": self.width, "N": len(members), "PORTS": len(ports), "ADDRESS_BITS": h.address_bits,
                 "BANK_BITS": bank_bits(h.arch), "BANK": number, "SYNCHRONOUS": int(h.synchronous)}  # fmt: skip
        connections = {"clk": "clk"} | asked | served | answer
        self.body += ["", *instance("gl_memory_bank", f"memory_bank_{number}", sizes, connections)]

    def _bus_ports(self, bus: Bus) -> None:
        """The ports of a memory bus, or of a port of a bank, to the outside: an access for each SIMD lane."""
        w, lanes = self.width, self.lanes
        for direction, part, width in (
            ("output", "request", lanes), ("output", "store", lanes),
            ("output", "address", lanes * self.hardware.address_bits), ("output", "word", w), ("input", "loaded", w),
        ):  # fmt: skip
            self.ports.append(port(direction, width, f"{bus.name}_{part}"))

    def _bus(self, number: int) -> None:
        """The instance of a memory bus; SIMD lanes have one each."""
        bus = self.hardware.buses[number]
        members = [self.names[self.hardware.arch.tiles[tile].name] for tile in bus.units]
        sizes = {"W": self.hardware.width, "N": len(members), "ADDRESS_BITS": self.hardware.address_bits}
        for lane in range(self.lanes):
            asked = {
                "ask" if part == "ask" else f"ask_{part}":
                concatenate([self._of_lane(f"{name}_memory_{part}", part, lane) for name in members])
                for part in ("ask", "store", "address", "word")
            }  # fmt: skip
            answers = {part: self._of_lane(f"{bus.name}_{part}", "ask" if part in ("request", "store") else part, lane)
                       for part in ("request", "store", "address", "word")}  # fmt: skip
            name = bus.name if self.lanes == 1 else f"{bus.name}_lane_{lane}"
            self.body += ["", *instance("gl_memory_bus", name, sizes, asked | answers)]

    def _of_lane(self, name: str, part: str, lane: int) -> str:
        """The bits of a SIMD lane in a signal of a memory port; whether it stores is the same for all lanes."""
        width = {"ask": 1, "address": self.hardware.address_bits, "word": self.hardware.width}.get(part, 0)
        if self.lanes == 1 or not width:
            return name
        return f"{name}[{(lane + 1) * width - 1}:{lane * width}]" if width > 1 else f"{name}[{lane}]"

    def _end_of_chain(self) -> None:
        """Name all signals that nobody reads, so that lint tools do not report them."""
        last = len(self.hardware.units)
        # Settings are read by arrays with gates alone, and not all of them where hardware is trimmed.
        unread = [f"chain_{last}_valid", f"chain_{last}", "settings"]
        shapes = [unit.shape for unit in self.hardware.units]
        if not any(shape.registers for shape in shapes):
            unread.append("last_slot")
        if not any(shape.memory for shape in shapes):
            unread.append("turn")
        self.body += ["", wire(1, "unused", "&{1'b0, " + ", ".join([*unread, *self._unread_wires()]) + "}")]

    def _unread_wires(self) -> list[str]:
        """Outputs of units that no other unit reads: registers of a central file always have readers."""
        read = {r for unit in self.hardware.units if unit.shape.kind == "pe" for r in unit.inputs}
        arch = self.hardware.arch
        return [
            self._wire(r)
            for unit in self.hardware.units
            for r in unit.outputs
            if r not in read and arch.kind[r] != Kind.FU
        ]
