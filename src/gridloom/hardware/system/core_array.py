"""The system of an array as the core sees it: registers, DMA, images and launches, with their cycles.

Time goes from event to event: a transfer that ends, a launch that is set up or has run. Between two of them the
flags stay as they are, and the counters grow by the cycles in between. Transfers that read share the bus, those that
write have it for themselves. What a launch computes comes from ``launch``, which gets the image, the live-ins and the
words of the data memory; nothing here knows a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from gridloom.hardware.system.core import CoreRun
from gridloom.hardware.system.core_kernel import BASE
from gridloom.hardware.system.parameters import LIVEINS, System
from gridloom.hardware.system.registers import CHANNEL_BYTES, ID, REGISTERS, VERSION

#: Cycles from the issue of an access until the bus has it, that it keeps the bus, and until the core has an answer.
_TO_BUS: Final = 1
_WRITE_BUS: Final = 2
_READ_BUS: Final = 4
_TO_ANSWER: Final = 6
#: Cycles from a register that is written until what it starts begins.
_TO_CHANNEL: Final = 4
_TO_LAUNCH: Final = 4
#: Cycles of a read channel until its first element is there, and after the last one has come.
_READ_SETUP: Final = 3
_READ_TAIL: Final = 2
#: Cycles until a write channel has its first burst, and what each burst takes besides its elements.
_WRITE_SETUP: Final = 4
_WRITE_BURST: Final = 3
_BURST: Final = 16
_PAGE: Final = 4096
#: Cycles of a launch besides its rows: one behind each part, and the chain's length and some more.
_BEHIND_PART: Final = 1
_BEHIND_CHAIN: Final = 3
_NUMBERS: Final = {register.name: register.address for register in REGISTERS}
_NAMES: Final = {address: name for name, address in _NUMBERS.items()}
_COUNTERS: Final = ("BUSY", "STALLED", "CONFIGURING", "LOADING", "MOVING", "TRANSFER", "WAITING", "CYCLES")
#: Registers of a channel's descriptor.
_AT, _FORMAT, _COUNT, _STRIDE, _ROWS, _ROW_STRIDE, _PLACE = range(7)
_NEVER: Final = 1 << 60


@dataclass(frozen=True, kw_only=True)
class ArrayLaunch:
    """What a launch gets. ``memory`` is the data memory, which the launch changes."""

    image: tuple[int, ...]
    iterations: int
    liveins: tuple[int, ...]
    memory: np.ndarray[Any, np.dtype[np.int64]]
    #: Read channel -> the words that it brings.
    feeds: Mapping[int, np.ndarray[Any, np.dtype[np.int64]]]


@dataclass(frozen=True, kw_only=True)
class ArrayOutcome:
    """What a launch left: live-out registers, and the words for each write channel."""

    liveouts: Mapping[int, int]
    drains: Mapping[int, np.ndarray[Any, np.dtype[np.int64]]] = field(default_factory=dict)


@dataclass(slots=True)
class _Transfer:
    """A transfer under way: when it begins, what is left of it in cycles of the bus, and what comes behind it."""

    begin: float
    left: float
    tail: int
    end: float = _NEVER


class ArraySystem:
    """The device of a :class:`CoreRun`; ``launch`` computes what the array would."""

    def __init__(self, core: CoreRun, system: System, launch: Callable[[ArrayLaunch], ArrayOutcome]) -> None:
        self.core, self.system, self.launch = core, system, launch
        self.words: dict[int, int] = {}
        self.memory = np.zeros(max(1, system.memory_words), np.int64)
        self.images: dict[int, tuple[int, ...]] = {}
        self.held: tuple[int, ...] | None = None
        self.now = 0
        self.bus_free = 0
        self.counters = dict.fromkeys(_COUNTERS, 0)
        self.reads: dict[int, _Transfer] = {}
        self.writes: dict[int, _Transfer] = {}
        self.loading: tuple[int, _Transfer] | None = None
        #: Set from a launch that is asked for until it is set up.
        self.pending: tuple[int, ...] = ()
        self.asked_at = 0
        #: (end, what the launcher does until then), the next one first.
        self.phases: list[tuple[int, str]] = []
        self.core_waits = False
        self.launches = 0

    # -- the bus ------------------------------------------------------------------------------------------------------

    def write(self, address: int, word: int, cycle: int) -> int:
        """Store a word in a register; the core goes on at once where the bus is not too far behind."""
        start = max(cycle + _TO_BUS, self.bus_free)
        self.bus_free = start + _WRITE_BUS
        self._advance(start)
        self.core_waits = False
        self._store(address, word, start)
        return max(cycle + 1, start - 1)

    def read(self, address: int, cycle: int) -> tuple[int, int]:
        """The word of a register, and when the core has it."""
        start = max(cycle + _TO_BUS, self.bus_free)
        self.bus_free = start + _READ_BUS
        self._advance(start)
        word = self._word(address)
        if address != _NUMBERS["STATUS"]:
            self.core_waits = False
        else:
            self.core_waits = bool(word & (2 | 8 | 64 | 128))
        return word, start + _TO_ANSWER

    def _store(self, address: int, word: int, at: int) -> None:
        """What a register does that is written."""
        name = _NAMES.get(address, "")
        self.words[address] = word
        if name == "CONTROL" and word & 2:
            self.counters = dict.fromkeys(_COUNTERS, 0)
        elif name == "LOAD_BANK":
            self._load(word, at)
        elif name == "START":
            for channel in range(16):
                if word >> channel & 1:
                    self._start_read(channel, at)
                if word >> (16 + channel) & 1:
                    self._start_write(channel, self._drained(channel), at)
        elif name == "LAUNCH" and word & 1:
            self.asked_at = at
            self.pending = (self._register("BANK"), self._register("ITERATIONS"))
            self._begin_launch()

    def _register(self, name: str, offset: int = 0) -> int:
        return self.words.get(_NUMBERS[name] + offset, 0)

    def _word(self, address: int) -> int:
        """What a register says."""
        name = _NAMES.get(address, "")
        if name in self.counters:
            return self.counters[name] & 0xFFFFFFFF
        if name == "STATUS":
            return self._status()
        parameters = self.system.parameters
        fixed = {
            "ID": ID, "VERSION": VERSION, "ARRAY": self.system.array_id, "SHAPE": self.system.shape,
            "MEMORY": self.system.memory_words, "ERROR": 0, "IRQ": 0,
            "VALID": sum(1 << bank for bank in self.images if bank < parameters.banks),
        }  # fmt: skip
        return fixed[name] if name in fixed else self.words.get(address, 0) & 0xFFFFFFFF

    def _status(self) -> int:
        kind = self.phases[0][1] if self.phases else ""
        word = self._register("CONTROL") & 1
        word |= 2 * bool(self.phases or self.pending) | 4 * (kind == "CONFIGURING") | 8 * (self.loading is not None)
        return word | 64 * bool(self.pending) | 128 * self._moving

    @property
    def _moving(self) -> bool:
        return bool(self.reads or self.writes)

    # -- transfers ----------------------------------------------------------------------------------------------------

    def _descriptor(self, side: str, channel: int) -> list[int]:
        return [self._register(side, channel * CHANNEL_BYTES + 4 * k) for k in range(7)]

    def _places(self, words: list[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The byte of each element of a pattern, from where memory begins."""
        rows, columns = np.arange(words[_ROWS]), np.arange(words[_COUNT])
        at = words[_AT] + rows[:, None] * words[_ROW_STRIDE] + columns[None, :] * words[_STRIDE]
        return (at.reshape(-1) & 0xFFFFFFFF) - BASE

    def _elements(self, words: list[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The elements of a pattern as words."""
        data = self.core.memory.view(np.uint8)
        kind = words[_FORMAT]
        dtype = np.dtype(f"<{'i' if kind & 4 or kind & 3 == 2 else 'u'}{1 << (kind & 3)}")
        places = self._places(words)
        raw = np.stack([data[places + k] for k in range(dtype.itemsize)], axis=-1)
        return np.ascontiguousarray(raw).view(dtype).reshape(-1).astype(np.int64)

    def _start_read(self, channel: int, at: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Begin to bring the elements of a channel's pattern; those of the memory's channel are there at once."""
        words = self._descriptor("READ", channel)
        found = self._elements(words)
        if self.system.has_memory and channel == 0:
            self.memory[words[_PLACE] : words[_PLACE] + len(found)] = found
        self.reads[channel] = _Transfer(at + _TO_CHANNEL + _READ_SETUP, len(found), _READ_TAIL)
        return found

    def _drained(self, channel: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        words = self._descriptor("WRITE", channel)
        return self.memory[words[_PLACE] : words[_PLACE] + words[_COUNT] * words[_ROWS]]

    def _start_write(self, channel: int, found: np.ndarray[Any, np.dtype[np.int64]], at: int) -> None:
        """Write elements to memory, and take the time that it needs."""
        words = self._descriptor("WRITE", channel)
        data, places, size = self.core.memory.view(np.uint8), self._places(words), 1 << (words[_FORMAT] & 3)
        for k in range(size):
            data[places + k] = (found >> 8 * k & 255).astype(np.uint8)
        side_by_side = words[_STRIDE] == size
        longest = min(_BURST, words[_COUNT]) if side_by_side else 1
        bursts = -(-words[_COUNT] // max(1, longest)) * words[_ROWS]
        self.writes[channel] = _Transfer(
            at + _TO_CHANNEL + _WRITE_SETUP + longest, len(found) + _WRITE_BURST * bursts, 0
        )

    def _load(self, bank: int, at: int) -> None:
        """Begin to load an image."""
        first, count = (self._register("LOAD_ADDRESS") - BASE) // 4, self._register("LOAD_WORDS")
        self.images[bank] = tuple(self.core.memory[first : first + count].tolist())
        if self.held is not None and self.held[0] == bank:
            self.held = None
        self.loading = bank, _Transfer(at + _TO_CHANNEL + _READ_SETUP, count, 1)

    # -- launches -----------------------------------------------------------------------------------------------------

    def _begin_launch(self) -> None:
        """Set up the launch that waits, where nothing is under way."""
        if not self.pending or self.phases or self._moving or (self.loading and self.loading[0] == self.pending[0]):
            return
        bank, iterations = self.pending
        image = self.images[bank]
        packets, entries, selectors = image[4] & 0xFFFF, image[4] >> 16, image[6]
        ii, length = image[5] & 0xFFFF, image[5] >> 16
        begin = max(self.now, self.asked_at) + _TO_LAUNCH
        parts = [2 * entries]
        if self.held != (bank, *image[-2:]):
            parts += [packets, selectors]
        self.held = (bank, *image[-2:])
        set_up = begin + sum(part + _BEHIND_PART for part in parts)
        drained = set_up + len(self.system.hardware.units) + _BEHIND_CHAIN
        steps = (iterations - 1) * ii + length
        stalls = self._run(image, iterations, begin)
        self.phases = [(begin, "WAIT"), (set_up, "SET UP"), (drained, "CONFIGURING")]
        if stalls > steps:
            self.phases.append((drained + stalls - steps, "STALLED"))
            drained += stalls - steps
        self.phases.append((drained + steps, "BUSY"))
        self.launches += 1

    def _run(self, image: tuple[int, ...], iterations: int, begin: int) -> int:
        """Compute what the launch does; returns the cycles that its streams take, 0 without any."""
        streams = self._register("STREAMS")
        feeds = {channel: self._start_read(channel, begin) for channel in range(16) if streams >> channel & 1}
        liveins = tuple(self._register("LIVEIN", 4 * k) for k in range(LIVEINS))
        outcome = self.launch(
            ArrayLaunch(image=image, iterations=iterations, liveins=liveins, memory=self.memory, feeds=feeds)
        )
        for number, word in outcome.liveouts.items():
            self.words[_NUMBERS["LIVEOUT"] + 4 * number] = word & 0xFFFFFFFF
        for channel, words in outcome.drains.items():
            if streams >> 16 + channel & 1:
                self._start_write(channel, words, begin)
        if not streams:
            return 0
        written = sum(flow.left for channel, flow in self.writes.items() if streams >> 16 + channel & 1)
        return int(max(sum(len(words) for words in feeds.values()), written))

    # -- time ---------------------------------------------------------------------------------------------------------

    def _advance(self, to: int) -> None:
        """Let time go on to a cycle."""
        while self.now < to:
            flows = [*self.reads.values(), *([self.loading[1]] if self.loading else [])]
            sharing = [flow for flow in flows if flow.end == _NEVER and flow.begin <= self.now]
            writing = [flow for flow in self.writes.values() if flow.end == _NEVER and flow.begin <= self.now]
            until = float(to)
            if self.phases:
                until = min(until, self.phases[0][0])
            for group in (sharing, writing):
                until = min([until, *(self.now + flow.left * len(group) for flow in group)])
            waiting = [flow for flow in (*flows, *self.writes.values()) if flow not in sharing and flow not in writing]
            until = min([until, *(flow.begin if flow.end == _NEVER else flow.end for flow in waiting)])
            step = max(1, int(np.ceil(until)) - self.now)
            self._count(step)
            self.now += step
            for group in (sharing, writing):
                for flow in group:
                    flow.left -= step / len(group)
                    if flow.left <= 1e-9:
                        flow.end = self.now + flow.tail
            self._settle()

    def _settle(self) -> None:
        """Note what has ended by now."""
        for table in (self.reads, self.writes):
            for channel in [c for c, flow in table.items() if flow.end <= self.now]:
                del table[channel]
        if self.loading and self.loading[1].end <= self.now:
            self.loading = None
        while self.phases and self.phases[0][0] <= self.now:
            _, kind = self.phases.pop(0)
            if kind == "SET UP":
                self.pending = ()
        self._begin_launch()

    def _count(self, cycles: int) -> None:
        """Add cycles to the counters by what goes on."""
        counters, kind = self.counters, self.phases[0][1] if self.phases else ""
        configuring, busy = kind in ("SET UP", "CONFIGURING"), kind == "BUSY"
        works = configuring or busy
        flags = {
            "BUSY": busy, "STALLED": kind == "STALLED", "CONFIGURING": configuring,
            "LOADING": self.loading is not None and not works, "MOVING": self._moving,
            "TRANSFER": self._moving and not works and self.loading is None, "WAITING": self.core_waits, "CYCLES": True,
        }  # fmt: skip
        for name, flag in flags.items():
            counters[name] += cycles * flag
