"""Co-simulation: runs the generated hardware in an external simulator and returns what could be observed.

The simulator is Icarus Verilog by default, Verilator for long runs. Results have the form of the interpreter's and the
simulator's observations, so that a caller can compare them; this module only knows the hardware.

The flow of one run: :func:`~gridloom.hardware.bitstream.encode.encode` and
:func:`~gridloom.hardware.bitstream.packets.pack` turn the configuration into packets; streams and the initial data
memory become hex files; the testbench sends the packets, raises ``run`` for exactly the cycles that the last result
needs, and writes a trace with a line for each firing and for each word of the memory at the end; ``_Reader`` turns the
trace back into values per iteration and node.
A firing belongs to iteration f of a node when it happens in cycle (start + f) * II + slot on the node's tile. This is
the only link between hardware and graph, so a firing in any other cycle is reported as a problem (but for slots that
move a value for several iterations: they fire in every round).

A word with undefined bits becomes ``UNDEFINED``, so that a register that is read before it is written shows up as no
number at all instead of as a plausible one. Only Icarus can show that; Verilator has two-valued logic. The testbench
holds at most 65,536 packets and 65,536 words of streams.

Hardware with SIMD lanes runs a stimulus in each of them (:meth:`Bench.run_lanes`): a word of a stream or of the trace
then has the words of all lanes, and each lane has a data memory of its own. Live-ins are part of the configuration and
so the same in all lanes.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, cast, get_args

import numpy as np
from numpy.typing import NDArray

from gridloom.dfg.interpreter import Observation, Stimulus
from gridloom.dfg.semantics import encode as carrier
from gridloom.dfg.words import word_of
from gridloom.errors import MissingExtra, OptionError, SimulationError
from gridloom.hardware.bitstream.encode import encode, fit_parameters, memory_layout
from gridloom.hardware.bitstream.packets import pack
from gridloom.hardware.programs import run_program
from gridloom.hardware.rtl.generate import rtl_files
from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.rtl.testbench import PACKETS, STREAM_WORDS, TESTBENCH, bench_modules, memory_name, stream_ports
from gridloom.hardware.verilated import build_program
from gridloom.mapping.configuration import Configuration, Slot

Words = NDArray[np.int64]
Simulator = Literal["icarus", "verilator"]

#: Stands for a word with undefined bits: no number of any domain.
UNDEFINED = -0x5EED000000000000

_PROGRAMS = {"icarus": ("iverilog", "vvp"), "verilator": ("verilator",)}
_PACKAGES = {"icarus": "iverilog", "verilator": "verilator"}


class Firing(NamedTuple):
    """One firing of a tile's function unit: when, where and with what result."""

    cycle: int
    tile: int
    result: int


@dataclass(frozen=True, kw_only=True)
class HardwareRun:
    """What was observed in one run of the hardware.

    ``observation`` has the form of the interpreter's and the simulator's, so a caller can compare the two part by part.
    ``firings`` are sorted by cycle and tile and include those of moves and spills, which no node stands for. An empty
    ``problems`` says that the hardware fired exactly when the configuration asks for it; it says nothing about values.
    """

    observation: Observation
    firings: tuple[Firing, ...]
    cycles: int
    #: In words: firings that the configuration does not ask for, and firings it asks for that did not happen.
    problems: tuple[str, ...]


def available(simulator: Simulator = "icarus") -> bool:
    """Return True when the programs of a simulator are installed."""
    return all(shutil.which(program) for program in _PROGRAMS[simulator])


def parse_simulator(text: str) -> Simulator:
    """Return the simulator of this name. OptionError for any other name."""
    for name in get_args(Simulator):
        if text == name:
            return cast(Simulator, name)
    raise OptionError(f"expected {' or '.join(get_args(Simulator))}, found {text!r}", where="--simulator")


def fastest_simulator() -> Simulator:
    """Return Verilator where it is installed, otherwise Icarus Verilog."""
    return "verilator" if available("verilator") else "icarus"


def require(simulator: Simulator) -> None:
    """Raise MissingExtra, which names the package, when a simulator is not installed."""
    for program in _PROGRAMS[simulator]:
        if not shutil.which(program):
            raise MissingExtra(
                f"{program} is not installed; install the package {_PACKAGES[simulator]!r}, for instance with "
                f"apt-get install {_PACKAGES[simulator]}"
            )


class Bench:
    """The compiled hardware of an array with its testbench; it runs any configuration that fits the hardware.

    Compiling a large array takes seconds, so keep a bench to run it more than once. MissingExtra when the simulator is
    not installed.

    The compiled program depends on the array and its parameters only: streams, memory and configuration come from files
    and options of each run. Without ``folder`` the sources and the program of Icarus are in a temporary folder, which
    is removed with the object. Verilator's program is kept in the user's cache: it takes half a minute to build and
    runs ten times as fast. SimulationError where the simulator refuses the Verilog.
    """

    def __init__(self, hardware: Hardware, *, simulator: Simulator = "icarus", folder: Path | None = None) -> None:
        # A missing program is reported before any file is written.
        require(simulator)
        self.hardware, self.simulator = hardware, simulator
        self._temporary = None if folder else tempfile.TemporaryDirectory(prefix="gridloom-rtl-")
        self.folder = folder or Path(self._temporary.name)  # type: ignore[union-attr]
        self.folder.mkdir(parents=True, exist_ok=True)
        texts = rtl_files(hardware) | bench_modules(hardware)
        if simulator == "verilator":
            self._program = [str(build_program(texts, TESTBENCH))]
        else:
            for name, text in texts.items():
                (self.folder / name).write_text(text, encoding="utf-8")
            options = ["-g2012", "-Wall", "-Wno-timescale", "-o", "bench.vvp", "-s", TESTBENCH]
            _call(["iverilog", *options, *sorted(texts)], self.folder)
            self._program = ["vvp", "-n", str(self.folder / "bench.vvp")]

    def run(self, configuration: Configuration, stimulus: Stimulus, *, stall: int = 0) -> HardwareRun:
        """Configure the hardware, run a stimulus and return what was observed; all SIMD lanes get the same stimulus.

        The stimulus needs a word for every input and iteration and a value for every live-in of the configuration's
        graph. ``stall`` is the seed of random cycles in which streams, outputs and memory make the array wait; 0: none
        do. Each run has a folder of its own inside that of the bench, which is removed afterwards. MappingError
        where the hardware is too small for the configuration, SimulationError where the simulator fails. A run costs
        the start of a process and the simulation of all cycles, those in which packets travel along the chain included.
        """
        return self.run_lanes(configuration, [stimulus] * self.hardware.simd_lanes, stall=stall)[0]

    def run_lanes(
        self, configuration: Configuration, stimuli: Sequence[Stimulus], *, stall: int = 0
    ) -> tuple[HardwareRun, ...]:
        """Run a stimulus in each SIMD lane, all at once, and return what was observed in each; see :meth:`run`.

        SimulationError unless there is a stimulus for each lane, all with the same live-ins and as many iterations.
        """
        _check_lanes(stimuli, self.hardware.simd_lanes)
        with tempfile.TemporaryDirectory(prefix="run-", dir=self.folder) as place:
            folder = Path(place)
            files, options = bench_inputs(self.hardware, configuration, stimuli)
            for name, text in files.items():
                (folder / name).write_text(text, encoding="ascii")
            _call([*self._program, *options, f"+stall={stall}"], folder)
            trace = (folder / "trace.txt").read_text(encoding="utf-8")
        cycles = cycles_of(configuration, stimuli[0].iterations)
        return tuple(
            _Reader(self.hardware, configuration, stimulus, cycles, lane).read(trace)
            for lane, stimulus in enumerate(stimuli)
        )


def _check_lanes(stimuli: Sequence[Stimulus], lanes: int) -> None:
    """Raise SimulationError unless stimuli can run in the SIMD lanes of one array at a time."""
    if len(stimuli) != lanes:
        raise SimulationError(f"the hardware has {lanes} SIMD lanes; found {len(stimuli)} stimuli")
    for lane, stimulus in enumerate(stimuli):
        if stimulus.iterations != stimuli[0].iterations or stimulus.liveins != stimuli[0].liveins:
            raise SimulationError(
                f"lane {lane}: SIMD lanes share live-ins and the number of iterations; its own differ"
            )


def cosimulate(
    configuration: Configuration,
    stimulus: Stimulus,
    *,
    hardware: Hardware | None = None,
    simulator: Simulator = "icarus",
) -> HardwareRun:
    """Generate the hardware of a configuration's array, run a stimulus on it and return what was observed.

    ``hardware`` is used instead where it is given; otherwise the parameters are fitted to the configuration. The
    hardware is compiled for this one run: keep a :class:`Bench` for several. MissingExtra when the simulator is not
    installed.
    """
    chosen = hardware or Hardware(configuration.arch, fit_parameters(configuration))
    return Bench(chosen, simulator=simulator).run(configuration, stimulus)


def _call(command: list[str], folder: Path) -> None:
    """Run a program in a folder. SimulationError with its first messages where it fails, or where it takes too long."""
    done = run_program(command, folder)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise SimulationError(f"{command[0]} ended with status {done.returncode}: " + "\n".join(lines[:10]))


def cycles_of(configuration: Configuration, iterations: int) -> int:
    """Return the number of cycles until the last result of a run is computed; 0 for a run without iterations.

    The last firing of a slot is in round start + iterations - 1; its result is there ``latency`` cycles after the
    issue.
    """
    ends = [(s.start + iterations - 1) * configuration.ii + s.slot + s.latency for s in configuration.slots]
    return max([*ends, -1]) + 1 if iterations else 0


def memory_image(configuration: Configuration, stimulus: Stimulus, reach: int = 0) -> list[int | None]:
    """Return the data memory before a run: arrays, and live-ins that are loaded from it; None: undefined.

    A spill buffer begins undefined, unless it holds a live-in: that is then its word 0, as the reload expects it. An
    array that the stimulus does not give is zero. ``reach`` is the number of words that addresses reach.
    """
    layout = memory_layout(configuration, reach)
    words: list[int | None] = [None] * layout.words
    for name, (first, length) in layout.arrays.items():
        given = stimulus.memory[name][:length].tolist() if name in stimulus.memory else [0] * length
        words[first : first + length] = given
    for first, spill in zip(layout.spills, configuration.spills):
        if spill.livein >= 0:
            words[first] = stimulus.liveins[configuration.dfg.nodes[spill.livein].id]
    return words


def bench_inputs(
    hardware: Hardware, configuration: Configuration, stimuli: Sequence[Stimulus]
) -> tuple[dict[str, str], list[str]]:
    """Return the files that the testbench reads, as name -> text, and the options of its program."""
    stimulus = stimuli[0]
    packets = pack(hardware, encode(configuration, hardware, stimulus.liveins))
    width = hardware.width
    _check_room("packets", len(packets), PACKETS, "a smaller array or a lower II")
    index, words = _stream_table(hardware, configuration, stimuli)
    _check_room("words of streams", len(words), STREAM_WORDS, "fewer iterations")
    images = [memory_image(configuration, given, 1 << hardware.address_bits) for given in stimuli]
    files = {
        "config.hex": hex_lines((p.to_int() for p in packets), 64),
        "stream_index.hex": hex_lines(index, 32),
        "streams.hex": hex_lines(words, hardware.vector_width),
    } | {f"{memory_name(lane)}.hex": hex_lines(image, width) for lane, image in enumerate(images)}
    numbers = {
        "packets": len(packets), "iterations": stimulus.iterations,
        "cycles": cycles_of(configuration, stimulus.iterations), "stream_words": len(words),
        "memory_words": len(images[0]) if hardware.buses else 0,
    }  # fmt: skip
    return files, [f"+{key}={value}" for key, value in numbers.items()]


def _check_room(what: str, count: int, most: int, lever: str) -> None:
    """Raise SimulationError for more packets or words than the tables of the testbench hold."""
    if count > most:
        raise SimulationError(f"the run has {count} {what}; the testbench holds {most}: take {lever}")


def hex_lines(words: Iterable[int | None], width: int) -> str:
    """Return words as hexadecimal digits, one per line; undefined words as x."""
    # The last digit may have more bits than the word; `$readmemh` drops those above it.
    digits = -(-width // 4)
    mask = (1 << width) - 1
    return "\n".join(["x" * digits if word is None else f"{word & mask:0{digits}x}" for word in words]) + "\n"


def _stream_table(
    hardware: Hardware, configuration: Configuration, stimuli: Sequence[Stimulus]
) -> tuple[list[int], list[int]]:
    """Where the words of each stream input and slot begin, and the words of all streams, one stream after the other.

    With SIMD lanes a word has the words of all lanes, that of the first one in the lowest bits.

    The index is flat: entry (number of the stream port) * 2**slot_bits + slot. It is a start, which the testbench
    advances at each read; a port needs one per slot, because different slots of a tile may read different streams.
    """
    dfg, contexts = configuration.dfg, 1 << hardware.slot_bits
    starts: dict[int, int] = {}
    words: list[int] = []
    for k, node in enumerate(dfg.nodes):
        if node.op == "input":
            starts[k] = len(words)
            rows = zip(*(given.streams[node.id][: given.iterations].tolist() for given in stimuli), strict=True)
            words += [_side_by_side(row, hardware.width) for row in rows]
    ports = {(unit.tile, k): number for number, (unit, k) in enumerate(stream_ports(hardware))}
    index = [0] * (len(ports) * contexts)
    for slot in configuration.slots:
        read = {k: o.node for k, o in enumerate(slot.operands) if o.kind == "stream"}
        if slot.kind == "op" and dfg.nodes[slot.node].op == "input":
            read = {0: slot.node}
        for k, position in read.items():
            index[ports[slot.tile, k] * contexts + slot.slot] = starts[position]
    return index, words


def _side_by_side(words: Sequence[int], width: int) -> int:
    """The words of all lanes as one, the first in the lowest bits.

    >>> hex(_side_by_side((1, -1, 2), 8))
    '0x2ff01'
    """
    return sum((word & (1 << width) - 1) << k * width for k, word in enumerate(words))


def expected_trace(
    hardware: Hardware, configuration: Configuration, stimuli: Sequence[Stimulus], expected: Sequence[Observation]
) -> str:
    """Return the lines that a correct run writes to its trace, sorted: results, words that leave, words of arrays.

    ``expected`` has the observation of each SIMD lane. Moves, spills and copies of a node are left out.
    """
    dfg, width = configuration.dfg, hardware.width
    lines = set()
    slots = {slot.node: slot for slot in configuration.slots if slot.kind == "op" and slot.copy == 0}
    for number, node in enumerate(dfg.nodes):
        slot, distance, kind = slots.get(number), 0, "F"
        if node.op == "output":
            edge = dfg.edges[dfg.operand_edges(node.id)[0]]
            distance, kind = (0 if slot else edge.distance), "E"
            slot = slot or slots.get(dfg.index[edge.source])
        if slot is None or not (dfg.ops[number].result or kind == "E"):
            continue
        for firing in range(expected[0].iterations - distance):
            words = [int(lane.values[firing + distance, number]) for lane in expected]
            cycle = (slot.start + firing) * configuration.ii + slot.slot
            lines.add(f"{kind} {cycle} {slot.tile} {_joined_words(words, width)}")
    if hardware.buses:
        for name, (first, length) in memory_layout(configuration, 1 << hardware.address_bits).arrays.items():
            for lane, shown in enumerate(expected):
                words = shown.memory[name][:length].tolist()
                lines |= {f"M {first + k} {lane} {_joined_words([word], width)}" for k, word in enumerate(words)}
    return "\n".join([*sorted(lines), ""])


def _joined_words(words: Sequence[int], width: int) -> str:
    """The hexadecimal digits of a word of each SIMD lane, that of lane 0 in the lowest bits."""
    joined = sum((word & (1 << width) - 1) << lane * width for lane, word in enumerate(words))
    return f"{joined:0{-(-width * len(words) // 4)}x}"


def _of_lane(text: str, lane: int, width: int) -> str:
    """The hexadecimal digits of a lane's word among those of all lanes; words are of whole digits or below one.

    >>> _of_lane("0002xx01", 1, 8), _of_lane("e4", 1, 2)
    ('xx', '1')
    """
    if width % 4 == 0:
        end = len(text) - lane * width // 4
        return text[end - width // 4 : end]
    digit = text[len(text) - 1 - lane * width // 4]
    known = digit.lower() in "0123456789abcdef"
    return f"{int(digit, 16) >> lane * width % 4 & (1 << width) - 1:x}" if known else digit


class _Reader:
    """Turns a trace into an observation, and notes where the hardware and the configuration disagree about firings.

    One reader serves one run, or one SIMD lane of it. ``fired`` and ``emitted`` map (cycle, tile) to a word; a tile
    fires at most once per cycle, so the key is unique.
    """

    def __init__(
        self, hardware: Hardware, configuration: Configuration, stimulus: Stimulus, cycles: int, lane: int
    ) -> None:
        self.hardware, self.configuration, self.stimulus, self.cycles = hardware, configuration, stimulus, cycles
        self.lane = lane
        self.n = stimulus.iterations
        self.problems: list[str] = []

    def read(self, trace: str) -> HardwareRun:
        """Return the run that a trace describes."""
        fired: dict[tuple[int, int], int] = {}
        emitted: dict[tuple[int, int], int] = {}
        memory: list[int] = []
        for line in trace.splitlines():
            kind, first, second, word = line.split()
            if kind == "M":
                if int(second) == self.lane:
                    memory.append(self._number(word))
                continue
            if self.hardware.simd_lanes > 1:
                word = _of_lane(word, self.lane, self.hardware.width)
            (fired if kind == "F" else emitted)[int(first), int(second)] = self._number(word)
        values = self._values(fired)
        observation = Observation(
            iterations=self.n,
            outputs=self._outputs(values, emitted),
            memory=self._memory(memory),
            liveouts={
                node.liveout: int(values[self.n - 1, k])
                for k, node in enumerate(self.configuration.dfg.nodes)
                if node.liveout and self.n
            },
            values=values,
        )
        firings = tuple(Firing(cycle, tile, word) for (cycle, tile), word in sorted(fired.items()))
        return HardwareRun(observation=observation, firings=firings, cycles=self.cycles, problems=tuple(self.problems))

    def _number(self, text: str) -> int:
        """A word of the trace as a number; UNDEFINED where it has undefined bits.

        Words of domain ``i32`` are signed, in two's complement of the hardware's width; words of ``cma24`` stay as they
        are, with the carry in bit 24.
        """
        if not all(letter in "0123456789abcdef" for letter in text.lower()):
            return UNDEFINED
        number, width = int(text, 16), self.hardware.width
        if self.hardware.domain == "i32" and number >> width - 1:
            number -= 1 << width
        return number

    def _given(self, value: int | float) -> int:
        """Return a number of the graph as a word of the hardware."""
        number = int(carrier(self.configuration.dfg.domain, value))
        return word_of(number, self.hardware.width) if self.hardware.domain == "i32" else number

    def _cycle(self, slot: Slot, firing: int) -> int:
        return (slot.start + firing) * self.configuration.ii + slot.slot

    def _values(self, fired: dict[tuple[int, int], int]) -> Words:
        """Return [iteration, node] -> value; notes firings that are missing and firings that no slot asks for.

        Constants, live-ins and free inputs never fire: their columns are what the hardware was given. Of the copies of
        a node the first one counts. Ops without a result (stores) count as 0, as in the interpreter.
        """
        dfg = self.configuration.dfg
        values = np.full((self.n, len(dfg.nodes)), UNDEFINED, dtype=np.int64)
        for k, node in enumerate(dfg.nodes):
            if node.op == "const":
                values[:, k] = self._given(node.value or 0)
            elif node.op == "livein":
                values[:, k] = self.stimulus.liveins[node.id]
            elif node.op == "input" and "input" in self.configuration.arch.free:
                values[:, k] = self.stimulus.streams[node.id][: self.n]
        wanted: set[tuple[int, int]] = set()
        shared = self._shared_slots()
        for slot in self.configuration.slots:
            keep = slot.kind == "op" and slot.copy == 0
            for firing in range(self.n):
                at = self._cycle(slot, firing), slot.tile
                wanted.add(at)
                if at not in fired:
                    self.problems.append(f"tile {slot.tile} does not fire in cycle {at[0]}")
                elif keep:
                    values[firing, slot.node] = fired[at] if dfg.ops[slot.node].result else 0
        for cycle, tile in sorted(fired.keys() - wanted):
            if (tile, cycle % self.configuration.ii) not in shared:
                self.problems.append(f"tile {tile} fires in cycle {cycle}, which no slot asks for")
        return values

    def _shared_slots(self) -> set[tuple[int, int]]:
        """Slots that move a timeless value for several iterations: they fire in every round."""
        count = Counter((slot.tile, slot.slot) for slot in self.configuration.slots)
        return {key for key, slots in count.items() if slots > 1}

    def _outputs(self, values: Words, emitted: dict[tuple[int, int], int]) -> dict[str, Words]:
        """Output node -> its words: initial values first, then what left the array in the right cycles.

        Where outputs need no tile of their own, the word leaves through the producer's port; an edge of distance d then
        shifts it by d iterations, and the first d words are the edge's initial values, which never enter the array.
        """
        dfg = self.configuration.dfg
        slots = {s.node: s for s in self.configuration.slots if s.kind == "op" and s.copy == 0}
        outputs: dict[str, Words] = {}
        for k, node in enumerate(dfg.nodes):
            if node.op != "output":
                continue
            words = np.full(self.n, UNDEFINED, dtype=np.int64)
            edge_number = dfg.operand_edges(node.id)[0]
            edge = dfg.edges[edge_number]
            distance = 0 if k in slots else edge.distance
            slot = slots.get(k) or slots.get(dfg.index[edge.source])
            for firing in range(self.n):
                if firing < distance:
                    first = dfg.initial_values(edge_number)[firing]
                    words[firing] = self.stimulus.liveins[first] if isinstance(first, str) else self._given(first)
                elif slot is not None:
                    at = self._cycle(slot, firing - distance), slot.tile
                    words[firing] = emitted.get(at, UNDEFINED)
            outputs[node.id] = words
            values[:, k] = words
        return outputs

    def _memory(self, numbers: Sequence[int]) -> dict[str, Words]:
        """Array name -> its words after the run; as before it where the hardware has no memory."""
        table: dict[str, Words] = {}
        for name, (first, length) in memory_layout(self.configuration, 1 << self.hardware.address_bits).arrays.items():
            if numbers:
                table[name] = np.array(numbers[first : first + length], dtype=np.int64)
            else:
                table[name] = self.stimulus.memory.get(name, np.zeros(length, dtype=np.int64)).copy()
        return table
