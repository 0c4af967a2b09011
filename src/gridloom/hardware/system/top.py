"""The module around an array: registers, DMA, images, launcher, data memory and streams; and all files of a system."""

from __future__ import annotations

from importlib import resources
from typing import Final

from gridloom.hardware.parameters import bits_for
from gridloom.hardware.rtl.generate import primitive, rtl_files
from gridloom.hardware.rtl.layout import CHUNK, ID_BITS, OFFSET_BITS, offset_bits
from gridloom.hardware.rtl.testbench import stream_ports
from gridloom.hardware.rtl.text import concatenate, instance, module, port, wire
from gridloom.hardware.rtl.top import TOP
from gridloom.hardware.rtl.unit_module import packet_bits
from gridloom.hardware.system.image import MEMORY_UNIT
from gridloom.hardware.system.parameters import LEVEL_BITS, LIVEINS, QUEUE, System
from gridloom.hardware.system.registers import ID, REGISTERS, VERSION

SYSTEM: Final = "gridloom_system"
#: Hand-written modules of a system, beside those of the array.
MODULES: Final = (
    "gl_queue", "gl_pattern", "gl_channels", "gl_dma_read", "gl_dma_write", "gl_axil", "gl_images", "gl_launcher",
    "gl_control", "gl_liveouts",
)  # fmt: skip

#: Ports of the slave and of the master: direction, bits, name.
SLAVE: Final = (
    ("input", 12, "awaddr"), ("input", 3, "awprot"), ("input", 1, "awvalid"), ("output", 1, "awready"),
    ("input", 32, "wdata"), ("input", 4, "wstrb"), ("input", 1, "wvalid"), ("output", 1, "wready"),
    ("output", 2, "bresp"), ("output", 1, "bvalid"), ("input", 1, "bready"),
    ("input", 12, "araddr"), ("input", 3, "arprot"), ("input", 1, "arvalid"), ("output", 1, "arready"),
    ("output", 32, "rdata"), ("output", 2, "rresp"), ("output", 1, "rvalid"), ("input", 1, "rready"),
)  # fmt: skip
MASTER: Final = (
    ("output", 1, "awid"), ("output", 32, "awaddr"), ("output", 8, "awlen"), ("output", 3, "awsize"),
    ("output", 2, "awburst"), ("output", 1, "awvalid"), ("input", 1, "awready"),
    ("output", 32, "wdata"), ("output", 4, "wstrb"), ("output", 1, "wlast"), ("output", 1, "wvalid"),
    ("input", 1, "wready"),
    ("input", 1, "bid"), ("input", 2, "bresp"), ("input", 1, "bvalid"), ("output", 1, "bready"),
    ("output", 1, "arid"), ("output", 32, "araddr"), ("output", 8, "arlen"), ("output", 3, "arsize"),
    ("output", 2, "arburst"), ("output", 1, "arvalid"), ("input", 1, "arready"),
    ("input", 1, "rid"), ("input", 32, "rdata"), ("input", 2, "rresp"), ("input", 1, "rlast"), ("input", 1, "rvalid"),
    ("output", 1, "rready"),
)  # fmt: skip
_COUNTED: Final = ("_start", "_busy", "_push", "_pop", "_writes")
_PATTERN: Final = ("count", "stride", "rows", "row_stride")


def module_text(name: str) -> str:
    """Return the text of a hand-written module of the system."""
    return (resources.files("gridloom.hardware.system") / "verilog" / f"{name}.v").read_text(encoding="utf-8")


def simulation_text(name: str) -> str:
    """The text of a file beside the generated ones: the C++ around a module, or a module of the test system."""
    return (resources.files("gridloom.hardware.system") / "simulation" / name).read_text(encoding="utf-8")


def system_files(system: System) -> dict[str, str]:
    """Return file name -> text of every module: the array's, the system's and the top. Linear in the array."""
    texts = rtl_files(system.hardware)
    names = [*MODULES, *(["gl_mover"] if system.has_memory else []), *(["gl_streams"] if system.feeds else [])]
    texts |= {f"{name}.v": module_text(name) for name in names}
    if system.has_memory:
        texts["gl_block_memory.v"] = primitive("gl_block_memory")
    if system.feeds:
        texts["gl_clock_gate.v"] = primitive("gl_clock_gate")
    texts[f"{SYSTEM}.v"] = system_module(system)
    return texts


def system_module(system: System) -> str:
    """Return the Verilog of the top module. Linear in the array's ports."""
    return _SystemModule(system).text()


class _SystemModule:
    """Builds the text part by part; ``body`` grows in the order of the text."""

    def __init__(self, system: System) -> None:
        self.system, self.hardware, self.parameters = system, system.hardware, system.parameters
        self.memory = int(system.has_memory)
        self.body: list[str] = []

    def text(self) -> str:
        """Return the whole module."""
        ports = [port("input", 1, "clk"), port("input", 1, "rst"), port("output", 1, "irq")]
        ports += [port(direction, bits, f"s_axi_{name}") for direction, bits, name in SLAVE]
        ports += [port(direction, bits, f"m_axi_{name}") for direction, bits, name in MASTER]
        self._wires()
        self._control()
        self._read()
        self._write()
        self._launcher()
        self._array()
        if self.memory:
            self._memory()
        self._streams()
        arch = self.hardware.arch
        comment = [
            f"Array {arch.name} as a system: AXI4-Lite for control and status (s_axi), AXI4 for data (m_axi).",
            f"{self.system.reads} read and {self.system.writes} write channels, {self.parameters.banks} image banks.",
        ]
        return module(SYSTEM, comment, ports, self.body)

    def _wires(self) -> None:
        """Wires between the parts."""
        s, p = self.system, self.parameters
        widths = {
            "write": 1, "read": 1, "write_address": 12, "read_address": 12, "write_data": 32, "write_lanes": 4,
            "read_data": 32, "write_refused": 1, "read_refused": 1, "stop": 1, "launch": 1, "load": 1,
            "iterations": 32, "load_address": 32, "load_words": 32, "bank": p.bank_bits, "load_bank": p.bank_bits,
            "liveins": 32 * LIVEINS, "liveouts": 32 * p.liveouts, "valid": 1 << p.bank_bits, "idle": 1,
            "configuring": 1, "running": 1, "stalled": 1, "finished": 1, "loading": 1, "read_failed": 1,
            "write_failed": 1, "outside": 1, "read_draining": 1, "write_draining": 1, "read_progress": 1,
            "write_progress": 1, "image_fault": 4, "row_address": p.row_bits, "row": 64, "packets": 16, "entries": 16,
            "selectors": 16, "ii": 16, "length": 16, "cfg_valid": 1, "packet": 64, "run": 1,
            "selects": s.selectors, "selected": 16 * s.selectors, "arrived": 32, "slot": self.hardware.slot_bits,
            "mover_busy": 1, "set_up": 1, "run_bank": p.bank_bits, "run_iterations": 32,
        }  # fmt: skip
        for side, count in (("read", s.reads), ("write", s.writes)):
            widths |= {f"{side}_{part}": 32 * count for part in ("at", "place", *_PATTERN)}
            widths |= {f"{side}_format": 3 * count, f"{side}_start": count, f"{side}_busy": count}
        widths |= {
            "read_push": s.reads + 1, "read_pop": s.reads, "read_level": LEVEL_BITS * s.reads,
            "read_words": 32 * s.reads, "engine_busy": s.reads + 1, "write_push": s.writes, "write_pop": s.writes,
            "engine_writes": s.writes, "write_level": LEVEL_BITS * s.writes, "write_words": 32 * s.writes,
            "pushed_words": 32 * s.writes,
        }  # fmt: skip
        # Channels are counted, so that even one of them is a vector.
        vectors = ("read_", "write_", "engine_")
        self.body += [f"wire [{bits - 1}:0] {name};" if name.startswith(vectors) and name.endswith(_COUNTED) else
                      wire(bits, name) for name, bits in widths.items()]  # fmt: skip

    def _control(self) -> None:
        """The slave and the registers."""
        s, p = self.system, self.parameters
        plain = ("awprot", "arprot")
        slave = {f"s_axi_{name}": f"s_axi_{name}" for _, _, name in SLAVE if name not in plain}
        port_names = ("write", "read", "write_address", "read_address", "write_data", "write_lanes", "read_data",
                      "write_refused", "read_refused")  # fmt: skip
        common = {"clk": "clk", "rst": "rst"}
        self.body += ["", *instance("gl_axil", "slave", {}, common | slave | {name: name for name in port_names})]
        addresses = {f"A_{register.name}": f"12'h{register.address:03x}" for register in REGISTERS}
        sizes = {
            "READS": s.reads, "WRITES": s.writes, "LIVEINS": LIVEINS, "LIVEOUTS": p.liveouts, "BANK_BITS": p.bank_bits,
            "BANKS": 1 << p.bank_bits, "ID": f"32'h{ID:08x}", "VERSION": VERSION, "ARRAY": f"32'h{s.array_id:08x}",
            "SHAPE": f"32'h{s.shape:08x}", "MEMORY": s.memory_words,
        }  # fmt: skip
        sides = [f"{side}_{part}" for side in ("read", "write")
                 for part in ("at", "place", *_PATTERN, "format", "start", "busy", "failed")]  # fmt: skip
        names = [
            *port_names, "irq", "stop", "launch", "load", "iterations", "load_address", "load_words", "bank",
            "load_bank", "liveins", "liveouts", "valid", "idle", "configuring", "running", "stalled", "finished",
            "set_up", "loading", "outside", "image_fault", *sides,
        ]  # fmt: skip
        told = {"draining": "read_draining || write_draining", "progress": "read_progress || write_progress"}
        self.body += ["", *instance("gl_control", "control", sizes | addresses, common | {n: n for n in names} | told)]

    def _read(self) -> None:
        """The read channels with their queues; the last one loads images."""
        s = self.system
        count = s.reads + 1
        loader = {
            "at": "load_address",
            "count": "load_words",
            "stride": "32'd4",
            "rows": "32'd1",
            "row_stride": "32'd0",
        }
        ports = {("address" if part == "at" else part): f"{{{word}, read_{part}}}" for part, word in loader.items()}
        ports |= {
            "clk": "clk", "rst": "rst", "stop": "stop", "start": "{load, read_start}", "format": "{3'd2, read_format}",
            "level": f"{{{LEVEL_BITS}'d0, read_level}}", "busy": "engine_busy", "draining": "read_draining",
            "failed": "read_failed", "progress": "read_progress", "push": "read_push", "word": "arrived",
        } | _master("ar", "r")  # fmt: skip
        sizes = {"CHANNELS": count, "CHANNEL_BITS": max(1, bits_for(count)), "LEVEL_BITS": LEVEL_BITS, "QUEUE": QUEUE}
        self.body += ["", *instance("gl_dma_read", "reader", sizes, ports)]
        self.body += ["assign m_axi_arid = 1'b0;", "assign m_axi_arsize = 3'd2;", "assign m_axi_arburst = 2'b01;"]
        for c in range(s.reads):
            self.body += self._queue(f"read_queue_{c}", c, "read", f"read_push[{c}]", "arrived", f"read_start[{c}]")
        levels = [f"(engine_busy[{c}] || (read_level[{c * LEVEL_BITS} +: {LEVEL_BITS}] != 0 && {c} < {self.memory}))"
                  for c in range(s.reads)]  # fmt: skip
        self.body.append(f"assign read_busy = {concatenate(levels)};")

    def _write(self) -> None:
        """The write channels with their queues."""
        s = self.system
        ports = {
            ("address" if part == "at" else part): f"write_{part}" for part in ("at", *_PATTERN, "format", "level")
        }
        ports |= {
            "clk": "clk", "rst": "rst", "stop": "stop", "start": "write_start", "words": "write_words",
            "busy": "engine_writes", "draining": "write_draining", "failed": "write_failed",
            "progress": "write_progress", "pop": "write_pop",
        } | _master("aw", "w", "b")  # fmt: skip
        sizes = {"CHANNELS": s.writes, "CHANNEL_BITS": max(1, bits_for(s.writes)), "LEVEL_BITS": LEVEL_BITS}
        self.body += ["", *instance("gl_dma_write", "writer", sizes, ports)]
        self.body += ["assign m_axi_awid = 1'b0;", "assign m_axi_awsize = 3'd2;", "assign m_axi_awburst = 2'b01;"]
        for c in range(s.writes):
            word = f"pushed_words[{32 * c} +: 32]"
            self.body += self._queue(f"write_queue_{c}", c, "write", f"write_push[{c}]", word, "1'b0")
        self.body.append("assign write_busy = engine_writes;")

    def _queue(self, name: str, c: int, side: str, push: str, word: str, clear: str) -> list[str]:
        """The queue of a channel."""
        ports = {
            "clk": "clk", "rst": f"rst || stop || {clear}", "push": push, "pop": f"{side}_pop[{c}]", "word_in": word,
            "word": f"{side}_words[{32 * c} +: 32]", "level": f"{side}_level[{LEVEL_BITS * c} +: {LEVEL_BITS}]",
        }  # fmt: skip
        return instance("gl_queue", name, {"W": 32, "DEPTH_BITS": LEVEL_BITS - 1}, ports)

    def _launcher(self) -> None:
        """The banks of images and the launcher."""
        s, p = self.system, self.parameters
        sizes = {"BANK_BITS": p.bank_bits, "ROW_BITS": p.row_bits}
        counts = {name: name for name in ("packets", "entries", "selectors", "ii", "length")}
        common = {
            "clk": "clk",
            "rst": "rst",
            "stop": "stop",
            "row_address": "row_address",
            "row": "row",
        }
        images = common | counts | {
            "bank": "run_bank",
            "start": "load", "start_bank": "load_bank", "start_words": "load_words",
            "arrives": f"read_push[{s.reads}]", "word": "arrived", "loading": "loading", "fault": "image_fault",
            "valid": "valid",
        }  # fmt: skip
        constants = {"ARRAY": f"32'h{s.array_id:08x}", "VERSION": VERSION}
        self.body += ["", *instance("gl_images", "images", sizes | constants, images)]
        launcher = common | counts | {
            "bank": "bank", "run_bank": "run_bank", "run_iterations": "run_iterations", "set_up": "set_up",
            "launch": "launch", "waits": "read_busy[0]" if self.memory else "1'b0", "stalled": "stalled",
            "bank_written": "load", "written_bank": "load_bank", "iterations": "iterations", "liveins": "liveins",
            "idle": "idle", "configuring": "configuring", "running": "running", "finished": "finished",
            "cfg_valid": "cfg_valid", "cfg_packet": "packet", "run": "run", "selects": "selects",
            "selected": "selected",
        }  # fmt: skip
        more = {"LIVEINS": LIVEINS, "UNITS": len(self.hardware.units), "SELECTORS": s.selectors,
                "SELECTOR_BITS": max(1, bits_for(s.selectors))}  # fmt: skip
        self.body += ["", *instance("gl_launcher", "launcher", sizes | more, launcher)]

    def _array(self) -> None:
        """The array with its clock, and the live-out registers."""
        h, s = self.hardware, self.system
        names = h.verilog_names
        self.body += ["", wire(1, "array_clk")]
        if s.feeds:
            self.body += instance("gl_clock_gate", "gate", {},
                                  {"clk": "clk", "enable": "!stalled", "gated": "array_clk"})  # fmt: skip
        else:
            self.body.append("assign array_clk = clk;")
        # Images hold packets with wide fields; the chain has as many bits as the array needs.
        cut = (
            f"{{packet[{64 - ID_BITS + h.id_bits - 1}:{64 - ID_BITS}], packet[{CHUNK + OFFSET_BITS + 1}:"
            f"{CHUNK + OFFSET_BITS}], packet[{CHUNK + offset_bits(h) - 1}:{CHUNK}], packet[{CHUNK - 1}:0]}}"
        )
        # Packets of the unit behind all units are words of the data memory.
        self.body.append(wire(1, "poke", f"cfg_valid && packet[63:48] == 16'h{MEMORY_UNIT:04x}"))
        ports = {"clk": "array_clk", "rst": "rst", "cfg_valid": "cfg_valid && !poke", "cfg_packet": "cfg_packet",
                 "run": "run", "iterations": "run_iterations", "finished": "array_finished",
                 "slot": "slot"}  # fmt: skip
        self.body += [wire(packet_bits(h), "cfg_packet", cut), wire(1, "array_finished")]
        for unit, k in stream_ports(h):
            name = f"{names[unit.name]}_stream_{k}"
            self.body += [wire(h.width, f"{name}_word"), wire(1, f"{name}_read")]
            ports |= {f"{name}_{part}": f"{name}_{part}" for part in ("word", "read")}
        for name in s.emitters:
            self.body += [wire(1, f"{name}_emit_valid"), wire(h.width, f"{name}_emit_word")]
            ports |= {f"{name}_emit_{part}": f"{name}_emit_{part}" for part in ("valid", "word")}
        for bus in h.buses:
            widths = {"request": 1, "store": 1, "address": h.address_bits, "word": h.width, "loaded": h.width}
            self.body += [wire(bits, f"{bus.name}_{part}") for part, bits in widths.items()]
            ports |= {f"{bus.name}_{part}": f"{bus.name}_{part}" for part in widths}
        self.body += instance(TOP, "array", {}, ports)
        self._liveouts()

    def _liveouts(self) -> None:
        h, s, p = self.hardware, self.system, self.parameters
        count = max(1, len(s.emitters))
        valid = concatenate([f"{name}_emit_valid" for name in s.emitters]) if s.emitters else "1'b0"
        words = concatenate([f"{name}_emit_word" for name in s.emitters]) if s.emitters else f"{h.width}'d0"
        self.body += [
            wire(count, "emit_valid", valid), wire(count * h.width, "emit_words", words),
            *instance("gl_liveouts", "liveout_registers",
                      {"W": h.width, "LIVEOUTS": p.liveouts, "PORTS": count, "SLOT_BITS": h.slot_bits},
                      {"clk": "clk", "tick": "running && !stalled", "slot": "slot",
                       "selects": f"selects[0 +: {p.liveouts}]", "selected": f"selected[0 +: {16 * p.liveouts}]",
                       "valid": "emit_valid", "words": "emit_words", "liveouts": "liveouts"}),
        ]  # fmt: skip

    def _memory(self) -> None:
        """The data memory: the array's buses, and one more port for the mover."""
        h = self.hardware
        names = [bus.name for bus in h.buses]
        self.body += [wire(1, "mover_store"), wire(h.address_bits, "mover_address"), wire(32, "mover_word"),
                      wire(h.width, "mover_loaded")]  # fmt: skip
        extended = (
            "mover_loaded" if h.width == 32 else f"{{{{{32 - h.width}{{mover_loaded[{h.width - 1}]}}}}, mover_loaded}}"
        )
        self.body += instance(
            "gl_mover", "mover",
            {"ADDRESS_BITS": h.address_bits, "LEVEL_BITS": LEVEL_BITS, "QUEUE": QUEUE,
             "SYNCHRONOUS": int(h.synchronous)},
            {"clk": "clk", "rst": "rst", "stop": "stop", "in_start": "read_start[0]", "out_start": "write_start[0]",
             "in_place": "read_place[0 +: 32]", "out_place": "write_place[0 +: 32]",
             "out_count": "write_count[0 +: 32]", "out_rows": "write_rows[0 +: 32]",
             "in_level": f"read_level[0 +: {LEVEL_BITS}]", "out_level": f"write_level[0 +: {LEVEL_BITS}]",
             "in_word": "read_words[0 +: 32]", "in_pop": "read_pop[0]", "out_push": "write_push[0]",
             "out_busy": "mover_busy", "out_word": "pushed_words[0 +: 32]", "outside": "outside",
             "poke": "poke", "poke_address": f"packet[{CHUNK} +: {h.address_bits}]", "poke_word": "packet[31:0]",
             "store": "mover_store", "address": "mover_address", "word": "mover_word", "loaded": extended},
        )  # fmt: skip
        stores = [f"({name}_request && {name}_store)" for name in names]
        self.body += instance(
            "gl_block_memory", "memory",
            {"W": h.width, "PORTS": 1 + len(names), "ADDRESS_BITS": h.address_bits, "SYNCHRONOUS": int(h.synchronous)},
            {"clk": "clk", "store": concatenate(["mover_store", *stores]),
             "address": concatenate(["mover_address", *(f"{name}_address" for name in names)]),
             "word": concatenate([f"mover_word[{h.width - 1}:0]", *(f"{name}_word" for name in names)]),
             "loaded": concatenate(["mover_loaded", *(f"{name}_loaded" for name in names)])},
        )  # fmt: skip

    def _streams(self) -> None:
        """The streams, where the array has some; what nobody reads is named for lint tools."""
        h, s, p, m = self.hardware, self.system, self.parameters, self.memory
        unread = ["s_axi_awprot", "s_axi_arprot", "m_axi_bid", "m_axi_rid", "array_finished", "packet", "mover_busy",
                  "read_place", "write_place", f"engine_busy[{s.reads}]"]  # fmt: skip
        if not m:
            self.body += ["assign outside = 1'b0;", "assign mover_busy = 1'b0;"]
        if not s.feeds:
            self.body.append("assign stalled = 1'b0;")
        else:
            ports = stream_ports(h)
            readers = [f"{h.verilog_names[unit.name]}_stream_{k}" for unit, k in ports]
            first, second = p.liveouts, p.liveouts + s.feeds
            sizes = {"W": h.width, "FEEDS": s.feeds, "DRAINS": s.drains, "READERS": len(readers),
                     "WRITERS": max(1, len(s.emitters)), "SLOT_BITS": h.slot_bits, "LEVEL_BITS": LEVEL_BITS,
                     "QUEUE": QUEUE}  # fmt: skip
            self.body += instance("gl_streams", "streams", sizes, {
                "running": "running", "slot": "slot", "feeds": f"selects[{first} +: {s.feeds}]",
                "fed": f"selected[{16 * first} +: {16 * s.feeds}]", "drains": f"selects[{second} +: {s.drains}]",
                "drained": f"selected[{16 * second} +: {16 * s.drains}]",
                "feed_level": f"read_level[{LEVEL_BITS * m} +: {LEVEL_BITS * s.feeds}]",
                "feed_words": f"read_words[{32 * m} +: {32 * s.feeds}]", "feed_pop": f"read_pop[{m} +: {s.feeds}]",
                "drain_level": f"write_level[{LEVEL_BITS * m} +: {LEVEL_BITS * s.drains}]",
                "drain_push": f"write_push[{m} +: {s.drains}]",
                "drain_words": f"pushed_words[{32 * m} +: {32 * s.drains}]",
                "reads": concatenate([f"{name}_read" for name in readers]), "read_words": "stream_words",
                "valid": "emit_valid", "words": "emit_words", "stalled": "stalled",
            })  # fmt: skip
            self.body.insert(self.body.index("wire array_clk;"), wire(h.width * len(readers), "stream_words"))
            self.body += [f"assign {name}_word = stream_words[{h.width * k} +: {h.width}];"
                          for k, name in enumerate(readers)]  # fmt: skip
        self.body += ["", wire(1, "unused", "&{1'b0, " + ", ".join(unread) + "}")]


def _master(*prefixes: str) -> dict[str, str]:
    """Connections of the master's ports of some channels, without the constant ones."""
    constant = ("id", "size", "burst")
    return {
        f"m_axi_{name}": f"m_axi_{name}"
        for _, _, name in MASTER
        if any(name.startswith(prefix) and name[len(prefix) :] not in constant for prefix in prefixes)
        and not (name.startswith("aw") and "aw" not in prefixes)
        and not (name.startswith("ar") and "ar" not in prefixes)
    }
