"""Sizes of the hardware that an Arch leaves open, and how a mapping makes them grow.

Where the array sets a limit (FIFO cycles, contexts), the hardware has exactly that; these parameters say the rest. For
an array alone ``gridloom rtl`` takes them as they are given. Where there is a mapping, ``bitstream.encode.fitted``
raises them to what its configuration needs; another mapping on the same array may then ask for another circuit, and
bits for a circuit that is too small are refused when they are encoded. The parameters are part of the header of a bit
file, because the positions of all fields follow from them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final

from gridloom.dfg.ops import OP_TABLE
from gridloom.errors import OptionError

#: Opcodes from this number on fit no opcode field; a field has ``OPCODE_BITS`` unless its unit has ops that need more.
OPCODES = 128
OPCODE_BITS = 6
#: The ops on singles that hardware computes, and their opcodes as a mask.
FLOAT_OPS: Final = tuple(name for name, op in OP_TABLE["i32"].items() if op.op_class == "fp" and op.in_hardware)
FLOATS: Final = sum(1 << OP_TABLE["i32"][name].code for name in FLOAT_OPS)
#: Accesses to memory, each with the operands that it reads.
ACCESSES: Final = {name: op.arity for name, op in OP_TABLE["i32"].items() if op.op_class == "mem"}
_WHOLE: Final = re.compile(r"-?[0-9]{1,9}")


def _between(low: int, high: int) -> dict[str, tuple[int, int]]:
    """The metadata of a field that holds a whole number from ``low`` to ``high``."""
    return {"range": (low, high)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trim:
    """What a set of mappings needs of an array: the hardware has no more than this.

    ``ops`` are (tile, op), ``arcs`` are (source, target, cycles, gate) by resource numbers, ``fifos`` are the most
    cycles that an operand waits on each tile, and ``memory`` are the tiles that load, store or spill. ``settings`` are
    the settings of the array, bit by bit: -1 where the mappings differ, otherwise the bit that all of them have.
    """

    ops: tuple[tuple[int, str], ...]
    arcs: tuple[tuple[int, int, int, int], ...]
    fifos: tuple[int, ...]
    memory: tuple[int, ...]
    settings: tuple[int, ...] = ()

    def setting(self, number: int) -> int:
        """Return the bit of a setting that is the same for all mappings; -1 where they differ."""
        return self.settings[number] if self.settings else -1


@dataclass(frozen=True, kw_only=True)
class HardwareParameters:
    """Parameters of the generated hardware.

    An instance is valid once it exists: the constructor raises OptionError for a number outside the range that the
    field's metadata names, for a flag that is none, and for an op that hardware does not compute. It is
    immutable and hashable, since the layout of context words is cached by it.
    """

    #: Bits of a word, 2 to 64. Values equal the simulator's for 32.
    width: int = field(default=32, metadata=_between(2, 64))
    #: Slots of a context memory where the array sets no limit.
    contexts: int = field(default=16, metadata=_between(1, 4096))
    #: Cycles of an operand FIFO where the array sets no limit.
    fifo: int = field(default=4, metadata=_between(0, 1024))
    #: Words per tile for immediates, live-ins and initial values.
    values: int = field(default=4, metadata=_between(1, 4096))
    #: The highest round that a start stage or an initial value may name.
    stages: int = field(default=63, metadata=_between(2, 65535))
    #: Wires per operand input where the array sets no limit.
    lanes: int = field(default=1, metadata=_between(1, 64))
    #: Words of data memory that an address can name.
    memory_words: int = field(default=1024, metadata=_between(2, 1 << 20))
    #: The most words of a spilled value's circular buffer.
    spill_depth: int = field(default=8, metadata=_between(1, 1 << 12))
    #: How many units the numbers of the configuration chain tell apart, if that is more than the array has.
    units: int = field(default=0, metadata=_between(0, 65534))
    #: True: tiles with op class ``mem`` have memory ports; null: they have them where the array has memory or buses.
    memory: bool | None = None
    #: False leaves out the paths from link to link through a tile (for comparisons of area).
    bypass: bool = True
    #: Ops of the function units, as far as a tile's classes allow them; null: all integer ops. Accesses to memory are
    #: all there unless some of them are named: without ``store_if`` a memory port needs no third operand.
    ops: tuple[str, ...] | None = None
    #: Ops on singles of the tiles with op class ``fp``: ``fadd``, ``fmul``, ... Words then have 32 bits.
    floats: tuple[str, ...] = ()
    #: True: results of every tile may leave the array, so that a host can read the last one of each (live-outs).
    liveouts: bool = False
    #: True: tiles of combinational rows keep words, too: the initial values of what comes from an earlier iteration.
    carries: bool = False
    #: What is kept of the array; null: all of it.
    trim: Trim | None = None

    def __post_init__(self) -> None:
        for parameter in fields(self):
            value, (low, high) = getattr(self, parameter.name), parameter.metadata.get("range", (None, None))
            if low is not None and (type(value) is not int or not low <= value <= high):
                raise OptionError(f"{parameter.name}: expected {low} to {high}, found {value!r}")
        for name, allowed in (
            ("memory", (True, False, None)), ("bypass", (True, False)), ("liveouts", (True, False)),
            ("carries", (True, False)),
        ):  # fmt: skip
            if not any(getattr(self, name) is value for value in allowed):
                raise OptionError(f"{name}: expected true or false, found {getattr(self, name)!r}")
        for op in self.ops or ():
            rows = [OP_TABLE[domain][op] for domain in ("i32", "cma24") if op in OP_TABLE[domain]]
            if not any(row.op_class in ("alu", "mul", "div") for row in rows) and op not in ACCESSES:
                raise OptionError(f"ops: {op!r} is not an integer op of the op table")
            if not any(row.in_hardware for row in rows) and op not in ACCESSES:
                raise OptionError(f"ops: no hardware is generated for {op!r}")
        for op in self.floats:
            if op not in FLOAT_OPS:
                raise OptionError(f"floats: no hardware is generated for {op!r}; known: {', '.join(FLOAT_OPS)}")
        if self.floats and self.width != 32:
            raise OptionError(f"floats: singles have words of 32 bits, found width {self.width}")

    def at_least(self, **needs: int) -> HardwareParameters:
        """Return the same parameters with each named number raised to what is needed.

        Nothing is ever lowered. OptionError where a need is above what the field can hold.

        >>> raised = HardwareParameters(fifo=4).at_least(fifo=2, values=9)
        >>> raised.fifo, raised.values
        (4, 9)
        """
        return replace(self, **{name: max(getattr(self, name), value) for name, value in needs.items()})

    @property
    def accesses(self) -> tuple[str, ...]:
        """The accesses to memory that tiles with a memory port make: those that ``ops`` names, or all.

        >>> HardwareParameters(ops=("add", "load", "store")).accesses
        ('load', 'store')
        >>> HardwareParameters(ops=("add",)).accesses == tuple(ACCESSES)
        True
        """
        return tuple(name for name in ACCESSES if name in (self.ops or ())) or tuple(ACCESSES)

    @property
    def stage_bits(self) -> int:
        """Bits of a start stage."""
        return self.stages.bit_length()

    def to_json(self) -> dict[str, Any]:
        """Return plain data for a file header.

        :meth:`from_json` reads it back to an equal object.

        >>> HardwareParameters.from_json(HardwareParameters(width=16, ops=("add",)).to_json()) == HardwareParameters(
        ...     width=16, ops=("add",)
        ... )
        True
        """
        data = asdict(self)
        data["ops"] = list(self.ops) if self.ops is not None else None
        # Files of hardware that is not trimmed stay as they were.
        if self.trim is None:
            del data["trim"]
        for name in ("liveouts", "carries"):
            if not data[name]:
                del data[name]
        if not self.floats:
            del data["floats"]
        else:
            data["floats"] = list(self.floats)
        return data

    @staticmethod
    def from_json(data: Mapping[str, Any], where: str = "parameters") -> HardwareParameters:
        """Return the parameters that a header gives. OptionError names an unknown key or a value out of range."""
        known = {parameter.name for parameter in fields(HardwareParameters)}
        for key in data:
            if key not in known:
                raise OptionError(f"no such parameter: {key!r}; known: {', '.join(sorted(known))}", where=where)
        values = dict(data)
        for key in ("ops", "floats"):
            ops = values.get(key)
            if ops is not None:
                if not isinstance(ops, list | tuple) or not all(isinstance(op, str) for op in ops):
                    raise OptionError(f"{key}: expected a list of ops, found {ops!r}", where=where)
                values[key] = tuple(ops)
        if values.get("trim") is not None:
            values["trim"] = _read_trim(values["trim"], where)
        try:
            return HardwareParameters(**values)
        except OptionError as error:
            raise error.at(where) from None


def _read_trim(data: Any, where: str) -> Trim:
    """The trim of a header. OptionError where it is none."""
    try:
        return Trim(
            ops=tuple((int(tile), str(op)) for tile, op in data["ops"]),
            arcs=tuple((int(a), int(b), int(c), int(d)) for a, b, c, d in data["arcs"]),
            fifos=tuple(int(cycles) for cycles in data["fifos"]),
            memory=tuple(int(tile) for tile in data["memory"]),
            settings=tuple(int(bit) for bit in data.get("settings", ())),
        )
    except (KeyError, TypeError, ValueError):
        raise OptionError("trim: expected ops, arcs, fifos and memory of a header; use --trim", where=where) from None


def parse_parameters(settings: Mapping[str, str]) -> HardwareParameters:
    """Return parameters from ``key=value`` settings: numbers, ``true``, ``false``, ``none``; ops as ``add+mul``.

    OptionError names an unknown key or a value out of range.

    >>> chosen = parse_parameters({"width": "16", "memory": "none", "ops": "add+mul"})
    >>> chosen.width, chosen.memory, chosen.ops
    (16, None, ('add', 'mul'))
    """
    words: dict[str, Any] = {"true": True, "false": False, "none": None, "null": None}
    values: dict[str, Any] = {}
    for key, text in settings.items():
        if key in ("ops", "floats"):
            values[key] = text.split("+") if text != "none" else None if key == "ops" else []
        else:
            values[key] = words[text] if text in words else int(text) if _WHOLE.fullmatch(text) else text
    return HardwareParameters.from_json(values, "--set")


def words_text(width: int, simd_lanes: int = 1) -> str:
    """Return in words what a unit computes with at a time.

    >>> words_text(32), words_text(32, 16)
    ('words of 32 bits', 'words of 32 bits in 16 SIMD lanes')
    """
    return f"words of {width} bits" + (f" in {simd_lanes} SIMD lanes" if simd_lanes > 1 else "")


def bits_for(count: int) -> int:
    """Return how many bits tell ``count`` things apart; 0 for one thing.

    >>> [bits_for(n) for n in (1, 2, 3, 4, 5)]
    [0, 1, 2, 2, 3]
    """
    return max(count - 1, 0).bit_length()
