"""Standard cells: area, clock and power of a design, by Yosys and OpenSTA with the liberty file of a cell library.

Yosys maps the Verilog to the cells of the library. Tiles of one shape are mapped once, and so are the modules of
``KEPT``, so that gates keep the part of the array that they belong to; the copies are joined afterwards. OpenSTA times
the flat netlist from register to register and adds up its power. There is no placement: wires have the input
capacitance of the gates that they drive and no delay, and the clock is ideal.

Gates are chosen for delay. The script of ABC that Yosys uses by default first minimises area, which turns the adders
of logarithmic depth into chains. ABC buffers the nets of a module; nets between modules get trees of buffers here, as
placement would insert them.

Memories of at least ``MACRO_BITS`` bits are macros of a memory compiler. They stay black boxes: paths end at them, and
their bits are counted apart.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from gridloom.errors import MissingExtra, OptionError, SimulationError
from gridloom.hardware.programs import run_program
from gridloom.hardware.rtl.generate import rtl_files
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.rtl.top import TOP
from gridloom.hardware.synthesis import yosys
from gridloom.hardware.synthesis.critical import PathStep, join_steps, place_of
from gridloom.text_file import read_text

#: Library -> the liberty file that its Debian package (``qflow-tech-NAME``) installs.
LIBRARIES: Final[Mapping[str, str]] = {
    "osu018": "/usr/share/qflow/tech/osu018/osu018_stdcells.lib",
    "osu035": "/usr/share/qflow/tech/osu035/osu035_stdcells.lib",
    "osu050": "/usr/share/qflow/tech/osu050/osu05_stdcells.lib",
}
#: Modules below a tile that are mapped by themselves.
KEPT: Final = ("gl_units", "gl_context_memory", "gl_values", "gl_operand")
#: A memory of so many bits or more is a macro and no flip-flops.
MACRO_BITS: Final = 2048
#: The share of clock cycles in which a net changes, where no run says better.
ACTIVITY: Final = 0.1
TIME_LIMIT: Final = 600.0

_ABC: Final = "+strash;dch,-f;map,-B,0.9;topo;buffer,-c;upsize;dnsize"
#: What drives an input and what an output drives, where the library has such a cell; sizes of gates depend on it.
_LOAD: Final = "set_load 0.05 [all_outputs]\n"
#: The clock that OpenSTA is asked about; slack and power are scaled to the clock that is reached.
_PERIOD: Final = 10.0
_MACRO: Final = "gl_memory_macro"
_MACRO_RULES: Final = f"""bram {_MACRO}
  init 0
  abits 10
  dbits 32
  groups 2
  ports 1 1
  wrmode 1 0
  enable 1 1
  transp 0 0
  clocks 1 1
  clkpol 2 2
endbram
match {_MACRO}
  min bits {MACRO_BITS}
endmatch
"""

#: A net drives at most so many inputs.
FANOUT: Final = 16

_CELL: Final = re.compile(r'\bcell\s*\(\s*"?(\w+)"?\s*\)\s*\{')
_PIN: Final = re.compile(r'\bpin\s*\(\s*"?(\w+)"?\s*\)\s*\{')
_AREA: Final = re.compile(r"\barea\s*:\s*([\d.eE+-]+)")
_OUTPUT: Final = re.compile(r"\bdirection\s*:\s*\"?output\b")
_FUNCTION: Final = re.compile(r'\bfunction\s*:\s*"\s*\(?\s*(\w+)\s*\)?\s*"')
_ROW: Final = re.compile(r"^\s*([\d.]+)\s+[\d.]+\s+[v^]\s+(\S.*)/\w+ \(\w+\)$", re.MULTILINE)
_SLACK: Final = re.compile(r"^\s*(-?[\d.]+)\s+slack", re.MULTILINE)
_POWER: Final = re.compile(r"^Total\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)", re.MULTILINE)
_INSTANCE: Final = re.compile(r"\\+([^\\$]+)\.")


@dataclass(frozen=True, kw_only=True)
class CellDesign:
    """Verilog that is mapped to standard cells."""

    name: str
    #: File name -> Verilog.
    texts: Mapping[str, str]
    top: str
    clock: str = "clk"
    #: Modules that are mapped by themselves; patterns of Yosys.
    kept: tuple[str, ...] = ()
    #: The array that it is; None for other designs.
    hardware: Hardware | None = None


class LibraryCell(NamedTuple):
    """What is read of a cell of a liberty file."""

    area: float
    outputs: frozenset[str]
    #: (input, output) of a buffer; None for other cells.
    buffer: tuple[str, str] | None


@dataclass(frozen=True, kw_only=True)
class CellResult:
    """Area, clock and power of a design in standard cells. Times are in nanoseconds, powers in milliwatts."""

    library: str
    cells: int
    #: In square micrometres, macros left out.
    area: float
    #: The share of the area that flip-flops take.
    register_share: float
    #: Part of the design -> its share of the area, largest first.
    parts: Mapping[str, float]
    #: Bits of memories that are macros.
    macro_bits: int
    period: float
    critical_path: tuple[PathStep, ...]
    #: At the clock that is reached, with ``activity`` changes of a net per cycle.
    internal_mw: float
    switching_mw: float
    leakage_mw: float
    activity: float
    #: Seconds of Yosys and of OpenSTA.
    seconds: tuple[float, float]
    files: tuple[Path, ...] = field(default=())

    @property
    def fmax_mhz(self) -> float:
        """The highest clock."""
        return 1000 / self.period

    @property
    def power_mw(self) -> float:
        """All power at that clock."""
        return self.internal_mw + self.switching_mw + self.leakage_mw


def find_liberty(library: str, file: Path | None = None) -> Path:
    """Return the liberty file of a library, or ``file`` where one is named.

    OptionError for an unknown library; MissingExtra where its package is not installed.
    """
    if file is not None:
        return file
    if library not in LIBRARIES:
        raise OptionError(f"no such library: {library!r}; known: {', '.join(LIBRARIES)}", where="--target")
    path = Path(LIBRARIES[library])
    if not path.is_file():
        raise MissingExtra(
            f"the cells of {library} are not installed; install the package 'qflow-tech-{library}', for instance with "
            f"apt-get install qflow-tech-{library}, or name a liberty file with --liberty"
        )
    return path


def array_design(hardware: Hardware) -> CellDesign:
    """Return the Verilog of an array, with its tiles kept apart unless wires of the whole form rings."""
    kept = () if hardware.has_rings else (*hardware.variants.values(), *(f"*{name}*" for name in KEPT))
    return CellDesign(name=hardware.arch.name, texts=rtl_files(hardware), top=TOP, kept=kept, hardware=hardware)


def core_design() -> CellDesign:
    """Return the RISC-V core of ``gridloom system``. MissingExtra where its package is not installed."""
    from gridloom.hardware.system.soc import core_text

    return CellDesign(name="VexRiscv", texts={"VexRiscv.v": core_text()}, top="VexRiscv")


def synthesise(
    design: CellDesign,
    liberty: Path,
    *,
    activity: float = ACTIVITY,
    folder: Path | None = None,
    seconds: float = TIME_LIMIT,
    progress: Callable[[str], None] = lambda _: None,
) -> CellResult:
    """Map a design to the cells of a liberty file, time it and add up its power.

    The netlist and the reports stay in ``folder`` where one is given. MissingExtra without the programs;
    SimulationError where one of them fails or the time runs out. A 2 x 2 mesh of 16 bits takes half a minute.
    """
    yosys.require()
    sta = shutil.which("sta") or shutil.which("opensta")
    if sta is None:
        raise MissingExtra(
            "OpenSTA is not installed; install the package 'opensta', for instance with apt-get install opensta"
        )
    cells = read_cells(read_text(liberty))
    if not cells:
        raise OptionError("has no cell with an area; expected a liberty file", where=str(liberty))
    with tempfile.TemporaryDirectory(prefix="gridloom-cells-") as temporary:
        place = folder or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        begun = time.perf_counter()
        progress(f"{design.name}: yosys maps the hardware to {liberty.stem}")
        _write_inputs(design, liberty.resolve(), place, activity)
        _run(["yosys", "-q", "synthesis.ys"], place, seconds)
        netlist = json.loads((place / "mapped.json").read_text(encoding="utf-8"))
        buffer_nets(netlist["modules"][design.top], cells)
        (place / "netlist.json").write_text(json.dumps(netlist), encoding="utf-8")
        _run(["yosys", "-q", "netlist.ys"], place, max(1.0, seconds - (time.perf_counter() - begun)))
        mapped = time.perf_counter() - begun
        progress(f"OpenSTA times it ({mapped:.0f} s so far)")
        text = _run([sta, "-exit", "timing.tcl"], place, max(1.0, seconds - mapped))
        (place / "timing.txt").write_text(text, encoding="utf-8")
        memories = json.loads((place / "memories.json").read_text(encoding="utf-8"))
        spent = (mapped, time.perf_counter() - begun - mapped)
        files = (place / "netlist.json", place / "netlist.v") if folder else ()
    return _result(design, liberty, cells, netlist, memories, text, activity, spent, files)


def _write_inputs(design: CellDesign, liberty: Path, place: Path, activity: float) -> None:
    """Write the Verilog and the scripts of both programs into a folder."""
    for name, text in design.texts.items():
        (place / name).write_text(text, encoding="utf-8")
    (place / "load.constr").write_text(_LOAD, encoding="utf-8")
    (place / "macros.txt").write_text(_MACRO_RULES, encoding="utf-8")
    kept = " ".join(design.kept)
    keep = f"setattr -mod -set keep_hierarchy 1 {kept}" if kept else ""
    script = f"""
read_verilog -sv -defer {" ".join(sorted(design.texts))}
hierarchy -check -top {design.top}
{keep}
synth -flatten -top {design.top} -run begin:fine
write_json memories.json
memory_bram -rules macros.txt
synth -flatten -top {design.top} -run fine:check
dfflibmap -liberty "{liberty}"
abc -liberty "{liberty}" -constr load.constr -script {_ABC}
opt_clean -purge
setattr -mod -unset keep_hierarchy *
flatten
splitnets -ports
opt_clean -purge
attrmap -remove src
write_json mapped.json
"""
    (place / "synthesis.ys").write_text(script, encoding="utf-8")
    script = f"""
read_json netlist.json
tee -q -o area.txt stat -liberty "{liberty}"
delete t:{_MACRO}
write_verilog -norename -noattr -noexpr -nohex -nodec netlist.v
"""
    (place / "netlist.ys").write_text(script, encoding="utf-8")
    commands = f"""
read_liberty {{{liberty}}}
read_verilog netlist.v
link_design {design.top}
create_clock -name {design.clock} -period {_PERIOD} [get_ports {design.clock}]
report_checks -path_delay max -format full -digits 4
set_power_activity -global -activity {activity}
report_power -digits 6
"""
    (place / "timing.tcl").write_text(commands, encoding="utf-8")


def _run(command: list[str], place: Path, seconds: float) -> str:
    """Run a program and return what it printed. SimulationError with its last words where it fails."""
    done = run_program(command, place, seconds=seconds)
    errors = [line for line in (done.stdout + done.stderr).splitlines() if line.lower().startswith(("error", "ERROR"))]
    if done.returncode or errors:
        words = errors or (done.stderr + done.stdout).strip().splitlines()[-5:]
        raise SimulationError(f"{Path(command[0]).name} ended with status {done.returncode}: " + "\n".join(words))
    return done.stdout


def _result(
    design: CellDesign, liberty: Path, library: Mapping[str, LibraryCell], netlist: Mapping[str, Any],
    memories: Mapping[str, Any], timing: str, activity: float, seconds: tuple[float, float], files: tuple[Path, ...],
) -> CellResult:  # fmt: skip
    """Read the netlist and what OpenSTA printed."""
    parts: Counter[str] = Counter()
    registers, count = 0.0, 0
    for name, cell in netlist["modules"][design.top]["cells"].items():
        if cell["type"] not in library:
            continue  # a macro
        area = library[cell["type"]].area
        count += 1
        parts[_part(name, design)] += area  # type: ignore[assignment]  # areas are no integers
        registers += area * ("DFF" in cell["type"].upper())
    area = float(sum(parts.values()))
    slack, power = _SLACK.search(timing), _POWER.search(timing)
    if slack is None or power is None:
        raise SimulationError("OpenSTA reports no path from register to register: the design has no register")
    period = _PERIOD - float(slack[1])
    internal, switching, leakage = (float(value) * 1000 for value in power.groups()[:3])
    return CellResult(
        library=liberty.stem,
        cells=count,
        area=area,
        register_share=registers / area,
        parts={part: share / area for part, share in parts.most_common()},
        macro_bits=_macro_bits(memories),
        period=period,
        critical_path=join_steps((_place(name, design), float(delay), 0.0) for delay, name in _ROW.findall(timing)),
        internal_mw=internal * _PERIOD / period,
        switching_mw=switching * _PERIOD / period,
        leakage_mw=leakage,
        activity=activity,
        seconds=seconds,
        files=files,
    )


def read_cells(liberty: str) -> dict[str, LibraryCell]:
    """Return the cells with an area of the text of a liberty file by name."""
    cells = {}
    for head in _CELL.finditer(liberty):
        text = _block(liberty, head.end())
        pins = {pin[1]: _block(text, pin.end()) for pin in _PIN.finditer(text)}
        outputs = frozenset(name for name, pin in pins.items() if _OUTPUT.search(pin))
        passed = [(found[1], name) for name in outputs if (found := _FUNCTION.search(pins[name])) and found[1] in pins]
        if area := _AREA.search(text):
            cells[head[1]] = LibraryCell(float(area[1]), outputs, passed[0] if passed and len(pins) == 2 else None)
    return cells


def _block(text: str, begin: int) -> str:
    """The text up to the brace that closes the one before ``begin``."""
    depth = 1
    for brace in re.compile("[{}]").finditer(text, begin):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return text[begin : brace.start()]
    return text[begin:]


def buffer_nets(module: dict[str, Any], library: Mapping[str, LibraryCell]) -> None:
    """Give each net of a module with more than ``FANOUT`` sinks a tree of the strongest buffers, in place.

    Clocks are left alone, and so are inputs of the module, whose drivers are elsewhere. Sinks of one part share a
    buffer. A library without a buffer changes nothing. Linear in the pins of the netlist but for sorting.
    """
    buffers = [(cell.area, name, cell.buffer) for name, cell in library.items() if cell.buffer]
    if not buffers:
        return
    _, strongest, (into, out) = max(buffers)
    drivers: dict[int, str] = {}
    sinks: dict[int, list[tuple[str, str]]] = {}
    for name, cell in module["cells"].items():
        for port, bits in cell["connections"].items():
            if cell["type"] not in library or not isinstance(bits[0], int):
                continue
            if port in library[cell["type"]].outputs:
                drivers[bits[0]] = name
            elif not (port.upper().startswith("CLK") or port.upper() in ("CK", "CP", "G", "GN")):
                sinks.setdefault(bits[0], []).append((name, port))
    free = 1 + max([*drivers, *sinks, *(b for port in module["ports"].values() for b in port["bits"] if b != "x")])
    for net in [net for net in drivers if len(sinks.get(net, ())) > FANOUT]:
        within = drivers[net].rpartition("\\")
        path = f"{within[0]}{within[1]}{within[2].partition('.')[0]}." if within[1] else ""
        level = sorted(sinks[net])
        while len(level) > FANOUT:
            above = []
            for first in range(0, len(level), FANOUT):
                name = f"{path}$buffer${free}"
                module["cells"][name] = {
                    "hide_name": 1, "type": strongest, "parameters": {}, "attributes": {},
                    "port_directions": {into: "input", out: "output"}, "connections": {into: [net], out: [free]},
                }  # fmt: skip
                for sink, port in level[first : first + FANOUT]:
                    module["cells"][sink]["connections"][port] = [free]
                above.append((name, into))
                free += 1
            level = above


def _macro_bits(memories: Mapping[str, Any]) -> int:
    """The bits of all memories that are large enough for a macro."""
    sizes = [
        int(cell["parameters"]["SIZE"], 2) * int(cell["parameters"]["WIDTH"], 2)
        for module in memories["modules"].values()
        for cell in module["cells"].values()
        if cell["type"].startswith("$mem")
    ]
    return sum(size for size in sizes if size >= MACRO_BITS)


def _instances(name: str) -> str:
    r"""The instances around a cell, joined by dots, and a dot behind them; empty for a cell of the top.

    >>> _instances(r"$flatten\pe_0_0.\units.$abc$12$auto$34")
    'pe_0_0.units.'
    """
    return "".join(f"{instance}." for instance in _INSTANCE.findall(name.removeprefix("$flatten")))


def _place(name: str, design: CellDesign) -> str:
    """What a cell is in the design, in words."""
    path = _instances(name)
    if design.hardware is None or not path:
        return path.rstrip(".") or design.top
    return place_of(path, design.hardware)


def _part(name: str, design: CellDesign) -> str:
    """The part of the design that a cell's area counts to: the same part of all tiles."""
    place = _place(name, design)
    if design.hardware is None:
        return place
    return place.partition(": ")[2] or ("around the tiles" if place in (TOP, "sequencer") else "links and control")
