"""The model of an array: its tiles, resources, arcs and pools, and the settings that a mapping may choose.

An ``Arch`` is a directed graph of *resources* (function units, operand inputs, output registers, links, registers,
switch outputs, constant registers, memory) held as flat arrays. A signal that is in resource ``u`` at cycle ``c`` can
be in ``v`` at cycle ``c + latency`` when there is an arc ``u -> v``. That is all that routers, checkers and
simulators need to know: a family file only builds this graph.

What each kind means:

=========  ==========================================================================================================
``FU``     the issue slot of a tile: an op, or a move (a route through the function unit), starts here
``IN``     operand k of a tile, after its multiplexer; its FIFO (``Tile.fifo``) delays what arrives here
``OUT``    the output of a tile's function unit; registered where op latency is at least 1; a self-arc means it holds
``LINK``   a directed wire between tiles
``REG``    one register of a register file; its self-arc holds the value (and rotates, see ``RegisterFile``)
``SWITCH`` one output of a switching element
``CONST``  a constant register: a timeless signal sits here
``MEM``    the spill area of the data memory
``LOAD``   the issue slot used to load a spilled value; shares the slot of its tile's ``FU``
``STORE``  the issue slot used to spill a value; shares the slot of its tile's ``FU``
=========  ==========================================================================================================

Data layout. A resource is an index r into ``resource_names``; the arrays ``kind``, ``tile``, ``position``, ``capacity``
and ``group`` have one entry per resource. An arc is an index into ``arc_source``, ``arc_target``, ``arc_latency`` and
``arc_gate``, which are sorted by these four and hold no arc twice. A tile is an index into ``tiles``. Names are fixed
by convention: ``TILE.fu``, ``TILE.out``, ``TILE.in0``, and ``SOURCE>TARGET`` for a link, with ``#1``, ``#2`` after it
where several run in parallel. A link belongs to the tile that it leaves.

Time. Cycles are flat: they are those of iteration 0. A resource is used in slot cycle mod II, and two uses in one slot
conflict unless they carry the same signal. The arc out of a ``FU`` has the latency of a move; an op's own result is
there after the latency that its tile gives its op class.

The same graph serves the three styles. On ``static`` arrays a tile runs one op for the whole loop (the II is 1), on
``modulo`` arrays tiles are shared in time, and on ``elastic`` arrays a mapping has no cycles: tokens
move when there is room.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from gridloom import registry
from gridloom.errors import ArchError
from gridloom.registry import NOTEBOOK, PICTURE

if TYPE_CHECKING:
    from gridloom.archs.unroll import ResourceGraph

Ints = NDArray[np.int32]

#: An array with more arcs does not fit in the memory of the machine that maps onto it: its description is a mistake.
MAX_ARCS = 4_000_000
Style = Literal["static", "modulo", "elastic"]


class Kind(IntEnum):
    """What a resource is; the table at the head of this module explains each kind."""

    FU = 0
    IN = 1
    OUT = 2
    LINK = 3
    REG = 4
    SWITCH = 5
    CONST = 6
    MEM = 7
    LOAD = 8
    STORE = 9


# The op classes of integer ops, which tiles may have in part.
_INTEGER = frozenset({"alu", "mul", "div"})

#: Kinds that take a tile's issue slot.
ISSUE_KINDS = (Kind.FU, Kind.LOAD, Kind.STORE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One place of the array: a processing element, a port, a register for constants, a unit or a switch.

    A tile says what can run and for how long; the wires to and from it are resources and arcs of the ``Arch``. Families
    make tiles, and the position of a tile in ``Arch.tiles`` is its index everywhere else. ``row`` and ``col`` may lie
    outside the grid: ports and constant registers stand at negative positions or beyond the last row.

    >>> tile = Tile(name="pe", row=0, col=0, classes=frozenset({"alu", "mul"}), latency={"mul": 3, "*": 1})
    >>> tile.latency_of("mul"), tile.latency_of("alu")
    (3, 1)
    """

    name: str
    row: int
    col: int
    #: Op classes that run here.
    classes: frozenset[str]
    #: What it is: ``pe``, ``load`` or ``store`` port, ``const`` register, ``cu``, ``mu``, ``switch``, ``dram``.
    kind: str = "pe"
    #: Cycles from issue to result, by op class; ``"*"`` is the rest.
    latency: Mapping[str, int] = field(default_factory=lambda: {"*": 1})
    #: Cycles the issue slot stays taken, by op class; ``"*"`` is the rest.
    occupancy: Mapping[str, int] = field(default_factory=lambda: {"*": 1})
    #: How many operands the function unit has.
    operands: int = 3
    #: Cycles that an operand may wait in its FIFO; None: no limit.
    fifo: int | None = 0
    #: The same for each operand, where they differ; empty: all have ``fifo``, which is then the deepest of them.
    fifos: tuple[int | None, ...] = ()
    #: Registers for waiting operands, shared by the tile's operands and slots; None: no limit.
    delays: int | None = None
    #: Slots of the context memory; None: no limit.
    contexts: int | None = None
    #: Different ops that the instruction RAM holds, which the slots choose from; None: one for every slot.
    instructions: int | None = None
    #: Words of the constant store: constants, live-ins that need no register, and initial values; None: no limit.
    constants: int | None = None
    #: Elastic arrays: tokens that fit in one input buffer, or that a memory unit holds. Spokes: variables per tile.
    buffer: int = 0
    #: Ops of its classes that it does not have, by name: some ALUs only add. Integer ops of ``alu``, ``mul``, ``div``.
    lacks: frozenset[str] = frozenset()

    def runs(self, op: str, classes: frozenset[str]) -> bool:
        """Return whether the tile can run an op that needs these op classes.

        >>> tile = Tile(name="pe", row=0, col=0, classes=frozenset({"alu"}), lacks=frozenset({"sub"}))
        >>> tile.runs("add", frozenset({"alu"})), tile.runs("sub", frozenset({"alu"}))
        (True, False)
        """
        return classes <= self.classes and (op not in self.lacks or not classes & _INTEGER)

    def fifo_of(self, operand: int) -> int | None:
        """Return the cycles that an operand may wait in its FIFO; None: no limit.

        >>> tile = Tile(name="pe", row=0, col=0, classes=frozenset(), fifo=4, fifos=(4, 0))
        >>> tile.fifo_of(1), tile.fifo_of(2)
        (0, 4)
        """
        return self.fifos[operand] if operand < len(self.fifos) else self.fifo

    def latency_of(self, op_class: str) -> int:
        """Return the cycles from the issue of an op of this class to its result.

        Whether the tile can run the class at all is not asked here: see ``classes``.
        """
        return self.latency.get(op_class, self.latency.get("*", 1))

    def occupancy_of(self, op_class: str) -> int:
        """Return the cycles for which an op of this class keeps the issue slot.

        It is 1 for a pipelined unit, whatever its latency, and larger for a unit that cannot take a new op each cycle.
        """
        return self.occupancy.get(op_class, self.occupancy.get("*", 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A capacity that a set of tiles shares: at most ``capacity`` ops of ``classes`` issue per slot.

    A memory bus that serves a row of tiles is a pool, and so is a port that either loads or stores. Moves count as
    class ``route`` and the loads and stores of spilled values as class ``mem``. ``tiles`` holds indices into
    ``Arch.tiles``.
    """

    name: str
    capacity: int
    tiles: tuple[int, ...]
    classes: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bank:
    """A part of the data memory, in which arrays of the program lie: so many accesses start in it per slot.

    ``tiles`` holds the indices of the tiles that reach it. The mapping says which array lies in which bank
    (``settings["banks"]``); loads and stores of the array then run on tiles that reach the bank. How long an access
    takes is the tile's latency for class ``mem``.
    """

    name: str
    tiles: tuple[int, ...]
    #: Accesses that may start in one cycle.
    ports: int = 1
    #: Bytes; None: no limit.
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterFile:
    """Registers that rotate together. The mapping sets how many rotate (``settings["rotating"][name]``).

    The first m registers rotate: what is register k in the last slot of an iteration is register k - 1 (mod m) in the
    first slot of the next one. A value may therefore live longer than II without being overwritten by its successor.

    Rotation is what modulo-scheduled machines such as Cydra 5 and Itanium use in place of unrolling the loop. The
    ``registers`` are resource indices in the order of rotation; ``rotating`` is the number that rotates where the
    mapping does not say, and the only one that it may say where the file is not ``adjustable``.
    """

    name: str
    registers: tuple[int, ...]
    rotating: int = 0
    #: True when the mapping may choose how many rotate.
    adjustable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Bits of the array that a mapping sets: ``length`` of them, under one name in ``Mapping.settings``.

    The bits of all settings of an array are numbered through in the order of ``Arch.settings``; ``Arch.arc_gate``
    refers to these numbers. A bit that is not given is 0.
    """

    name: str
    length: int
    summary: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Arch:
    """An array, ready to be mapped to. :func:`gridloom.archs.build` makes one from a description.

    An Arch never changes. What is looked up often is derived once and kept (``fu``, ``out``, ``links``, ``hops``). Two
    arrays are the same to a mapping when their ``fingerprint`` is the same; ``==`` compares identity, which makes an
    Arch usable as the key of a cache. The arrays are not copied by their readers, which must not write into them.

    The constructor checks only the traits. That the arcs make sense is the family's task and ``check_arch``'s test.

    >>> from gridloom.archs import build
    >>> arch = build("mesh:1x2")
    >>> arch
    <Arch mesh:1x2: static, 1 x 2, 2 tiles>
    >>> [arch.resource_names[r] for r in arch.operand_inputs[1]]
    ['pe_0_1.in0', 'pe_0_1.in1', 'pe_0_1.in2']
    >>> int(arch.hops[0, 1])
    1
    """

    name: str
    style: Style
    rows: int
    cols: int
    #: The description it was built from: family and parameters, as in the YAML file.
    spec: Mapping[str, Any]
    tiles: tuple[Tile, ...]
    resource_names: tuple[str, ...]
    #: Kind, tile (-1: none), position within its kind (operand, register or direction), capacity (0: no limit).
    kind: Ints
    tile: Ints
    position: Ints
    capacity: Ints
    #: Uses of resources with the same group conflict: a tile's FU, LOAD and STORE share one issue slot.
    group: Ints
    arc_source: Ints
    arc_target: Ints
    arc_latency: Ints
    #: Index of the settings bit that adds a cycle to the arc, -1: none.
    arc_gate: Ints
    pools: tuple[Pool, ...] = ()
    register_files: tuple[RegisterFile, ...] = ()
    banks: tuple[Bank, ...] = ()
    settings: tuple[Setting, ...] = ()
    #: Op classes that need no tile here: immediates, streams from a tile's base.
    free: frozenset[str] = frozenset({"const", "livein"})
    #: ``aligned``: every input issues at cycle 0; ``skewed``: each at its own cycle; ``free``: no rule.
    inputs: Literal["aligned", "skewed", "free"] = "free"
    #: Rules beyond those of every array, by the names under which ``verify`` knows them.
    rules: tuple[str, ...] = ()
    #: Bytes of data memory for arrays and spills; None: no limit.
    data_memory: int | None = None
    #: True when passing through a tile takes its function unit.
    route_uses_fu: bool = False
    #: Bits of a word of the hardware, unless its parameters say otherwise.
    word: int = 32
    #: Bits of the data path of every tile, which SIMD lanes share; None: one lane, as wide as a word. All lanes do the
    #: same, so that mappings are the same for every width: it is no part of the fingerprint.
    simd: int | None = None
    #: Links that a value may cross within one cycle, where tiles pass it on from link to link; None: no limit is set.
    links_per_cycle: int | None = None
    #: Loops around a launched one that the array's loop controller restarts it for; 0: the host starts every launch.
    #: Only the schedule of functions asks for it, so that it is no part of the fingerprint.
    loop_levels: int = 0
    #: Named facts that other code may ask for, never for the name of a family; declarations say what each means
    #: (`gridloom.registry.traits`). They follow from the description, like everything else here, and are not part of
    #: the fingerprint.
    traits: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for trait in sorted(self.traits):
            _check_trait(trait)

    def has(self, trait: str) -> bool:
        """Return whether the array has a trait; raise ArchError for a name that nobody declares."""
        if trait in self.traits:
            return True
        _check_trait(trait)
        return False

    @property
    def family(self) -> str:
        """The name of the family, for labels and messages. Code that decides by it asks for a trait instead."""
        return str(self.spec.get("family", ""))

    def __repr__(self) -> str:
        return f"<Arch {self.name}: {self.style}, {self.rows} x {self.cols}, {len(self.tiles)} tiles>"

    def _repr_svg_(self) -> str:
        drawn: str = PICTURE.load()(self)
        return drawn

    def _repr_html_(self) -> str:
        shown: str = NOTEBOOK.load()(self)
        return shown

    @property
    def is_timed(self) -> bool:
        """True where ops and hops have cycles; elsewhere they happen when tokens are there, and there is no II."""
        return self.style in ("static", "modulo")

    def simd_lanes(self, word: int | None = None) -> int:
        """Return how many words every tile computes with at a time, for words of so many bits (those of the array).

        ArchError where the data path does not hold a whole number of such words.

        >>> from gridloom.archs import build
        >>> build("streaming-engine:16,simd=512").simd_lanes(), build("streaming-engine:16").simd_lanes()
        (16, 1)
        """
        bits = self.word if word is None else word
        lanes, rest = divmod(self.simd or bits, bits)
        if rest or not lanes:
            raise ArchError(f"simd: {self.simd} bits hold no whole number of words of {bits} bits")
        return lanes

    @cached_property
    def resource_index(self) -> Mapping[str, int]:
        """The index of each resource by its name."""
        return {name: k for k, name in enumerate(self.resource_names)}

    @cached_property
    def tile_index(self) -> Mapping[str, int]:
        """The index of each tile by its name."""
        return {tile.name: k for k, tile in enumerate(self.tiles)}

    def resource(self, name: str) -> int:
        """Return the index of a resource; raise ArchError when there is none of that name."""
        try:
            return self.resource_index[name]
        except KeyError:
            raise ArchError(f"array {self.name!r} has no resource {name!r}") from None

    @cached_property
    def fu(self) -> Ints:
        """For each tile, the index of its FU (or CONST) resource, where an instance sits; -1 where there is none."""
        table = np.full(len(self.tiles), -1, dtype=np.int32)
        for r in np.flatnonzero((self.kind == Kind.FU) | (self.kind == Kind.CONST)):
            table[self.tile[r]] = r
        return table

    @cached_property
    def operand_inputs(self) -> Ints:
        """A table [tile, operand] of the index of the IN resource; -1 where there is none."""
        width = max([tile.operands for tile in self.tiles] + [1])
        table = np.full((len(self.tiles), width), -1, dtype=np.int32)
        for r in np.flatnonzero(self.kind == Kind.IN):
            table[self.tile[r], self.position[r]] = r
        return table

    @cached_property
    def out(self) -> Ints:
        """For each tile, the index of its OUT resource; -1 where there is none."""
        table = np.full(len(self.tiles), -1, dtype=np.int32)
        for r in np.flatnonzero(self.kind == Kind.OUT):
            table[self.tile[r]] = r
        return table

    @cached_property
    def links(self) -> tuple[tuple[int, int, int], ...]:
        """The source tile, the target tile and the resource of every LINK, in the order of the resources.

        The ends are read from the name of the link, ``SOURCE>TARGET`` or ``SOURCE>TARGET#CHANNEL``: a link resource
        itself knows only the tile that it leaves.
        """
        names = self.tile_index
        rows = []
        for r in np.flatnonzero(self.kind == Kind.LINK):
            source, _, target = self.resource_names[r].partition(">")
            rows.append((names[source], names[target.partition("#")[0]], int(r)))
        return tuple(rows)

    @cached_property
    def hops(self) -> NDArray[np.int16]:
        """A table [tile, tile] of the least number of links between two tiles; -1 where there is no way.

        It is computed by :func:`hop_distances` when it is first asked for, and takes two bytes per pair of tiles.
        Arrays that join tiles without links (the rows of ``vpcma``) have -1 everywhere off the diagonal.
        """
        return hop_distances(len(self.tiles), [(a, b) for a, b, _ in self.links])

    @cached_property
    def link_cycles(self) -> int:
        """The least cycles that a value takes from a link to an operand behind it; 0 where nothing leaves a link.

        They are registers at the end of a link (``mesh:4x4,link=1``), and the links themselves on the streaming engine.
        """
        ends = (self.kind[self.arc_source] == Kind.LINK) & (self.kind[self.arc_target] == Kind.IN)
        return int(self.arc_latency[ends].min(initial=np.iinfo(self.arc_latency.dtype).max)) if ends.any() else 0

    def tiles_for(self, op_class: str) -> tuple[int, ...]:
        """Return the indices of the tiles that can run an op class. Linear in the tiles."""
        return tuple(k for k, tile in enumerate(self.tiles) if op_class in tile.classes)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that a mapping relies on: two arrays with one fingerprint take the same mappings.

        The name, the description, the size in rows and columns and the traits are left out, so that the same array
        described in two ways has one fingerprint. Linear in resources and arcs, computed once.
        """
        digest = hashlib.blake2b(digest_size=12)
        for part in (self.resource_names, [repr(_plain(tile)) for tile in self.tiles], self.pools_plain, self.rules):
            digest.update("\n".join(map(str, part)).encode())
        for array in (self.kind, self.tile, self.position, self.capacity, self.group):
            digest.update(np.ascontiguousarray(array, dtype=np.int32).tobytes())
        for array in (self.arc_source, self.arc_target, self.arc_latency, self.arc_gate):
            digest.update(np.ascontiguousarray(array, dtype=np.int32).tobytes())
        tail = (self.style, sorted(self.free), self.inputs, self.data_memory, [str(f) for f in self.register_files])
        digest.update(repr((*tail, self.settings, self.route_uses_fu)).encode())
        # Left out where there is no limit, so that arrays without such links keep the fingerprints that they had.
        if self.links_per_cycle is not None:
            digest.update(f"links per cycle {self.links_per_cycle}".encode())
        # Left out where there are none, so that arrays without banks keep the fingerprints that they had.
        if self.banks:
            digest.update(repr(self.banks).encode())
        if self.word != Arch.word:
            digest.update(f"words of {self.word} bits".encode())
        return digest.hexdigest()

    @property
    def pools_plain(self) -> list[str]:
        """The pools as text that does not depend on the order in which sets are stored."""
        return [f"{p.name} {p.capacity} {p.tiles} {sorted(p.classes)}" for p in self.pools]

    def unroll(self, ii: int, settings: Mapping[str, Any] | None = None) -> ResourceGraph:
        """Return the time-expanded resource graph for an II, as flat arrays. O(arcs * II).

        ``settings`` are those of a mapping: registers that rotate and pipeline bits. ArchError for unknown ones, for an
        II below 1 or other than 1 on a static or elastic array, and for a graph that would not fit in memory. The graph
        is not cached: whoever needs it more than once keeps it.
        """
        from gridloom.archs.unroll import unroll

        return unroll(self, ii, settings or {})


#: Fields of a tile that few arrays use, with their defaults.
_RARE: Final[Mapping[str, Any]] = {"lacks": frozenset(), "fifos": (), "constants": None}


def _plain(tile: Tile) -> tuple[Any, ...]:
    """Return the fields of a tile in a form whose text does not depend on the order of sets and dictionaries."""
    return tuple(
        sorted(v) if isinstance(v, frozenset) else sorted(v.items()) if isinstance(v, Mapping) else v
        # What few arrays have is left out of all others, so that these keep the fingerprints that they had.
        for v in (
            getattr(tile, name) for name in tile.__slots__ if name not in _RARE or getattr(tile, name) != _RARE[name]
        )
    )


def hop_distances(count: int, links: Iterable[tuple[int, int]]) -> NDArray[np.int16]:
    """Return the least number of links between all pairs of tiles [source, target]; -1 where there is no path.

    ``links`` are pairs (source, target) and are directed. The search goes breadth first from all tiles at once, on rows
    of bits: each hop of the diameter costs tiles * (most links into a tile) row operations. How many hops a pair waits
    is counted in binary, one table of bits for each digit, since a table of numbers would cost most of the time.

    >>> hop_distances(3, [(0, 1), (1, 2), (2, 1)]).tolist()
    [[0, 1, 2], [-1, 0, 1], [-1, 1, 0]]
    """
    before: list[list[int]] = [[] for _ in range(count)]
    for a, b in links:
        before[b].append(a)
    most = max(map(len, before), default=0)
    # One row per goal. A tile with fewer links than the others stands in for the missing ones itself.
    entering = [np.array([row[k] if k < len(row) else b for b, row in enumerate(before)]) for k in range(most)]
    visited = np.packbits(np.eye(count, dtype=np.bool_), axis=1)
    digits: list[NDArray[np.uint8]] = []
    while True:
        reached = visited.copy()
        for sources in entering:
            reached |= visited[sources]
        if np.array_equal(reached, visited):
            break
        # One more for each pair that is not there yet; carry is what goes on to the next digit.
        carry = ~visited
        for k, digit in enumerate(digits):
            digits[k], carry = digit ^ carry, digit & carry
        if carry.any():
            digits.append(carry)
        visited = reached
    table = np.zeros((count, count), dtype=np.int16)
    for k, digit in enumerate(digits):
        table += np.unpackbits(digit, axis=1, count=count).astype(np.int16) << k
    table[np.unpackbits(visited, axis=1, count=count) == 0] = -1
    return np.ascontiguousarray(table.T)


class ArchBuilder:
    """Collects the tiles, resources and arcs of an array; ``build`` freezes them into an Arch.

    Families fill one and throw it away. Tiles and resources get their indices in the order in which they are added,
    which is part of the fingerprint: a family must add them in the same order each time. ``columns`` holds (kind, tile,
    position, capacity, group) for each resource, and ``arcs`` (source, target, latency, gate).

    >>> builder = ArchBuilder()
    >>> tile = builder.add_tile(Tile(name="t", row=0, col=0, classes=frozenset({"alu"}), operands=1))
    >>> unit, out = builder.add("t.fu", Kind.FU, tile), builder.add("t.out", Kind.OUT, tile)
    >>> builder.arc(unit, out, 1)
    >>> arch = builder.build(name="one", style="static", rows=1, cols=1, spec={})
    >>> arch.fu.tolist(), arch.out.tolist()
    ([0], [1])
    """

    def __init__(self) -> None:
        self.tiles: list[Tile] = []
        self.names: list[str] = []
        self.index: dict[str, int] = {}
        self.columns: list[tuple[int, int, int, int, int]] = []
        self.arcs: list[tuple[int, int, int, int]] = []
        self.pools: list[Pool] = []
        self.register_files: list[RegisterFile] = []
        self.banks: list[Bank] = []

    def add_tile(self, tile: Tile) -> int:
        """Add a tile and return its index."""
        self.tiles.append(tile)
        return len(self.tiles) - 1

    def add(
        self, name: str, kind: Kind, tile: int = -1, *, position: int = 0, capacity: int = 1, group: int | None = None
    ) -> int:
        """Add a resource and return its index; raise ArchError for a name that is taken.

        ``group`` names the resource whose slot it shares; without it, the resource has slots of its own. ``position``
        is the operand of an ``IN``, the number of a ``REG`` in its file and the direction of a ``LINK`` or ``SWITCH``.
        ``capacity`` is how many signals it carries per slot, 0 for no limit.
        """
        if name in self.index:
            raise ArchError(f"resource {name!r} is defined twice")
        r = len(self.names)
        self.index[name] = r
        self.names.append(name)
        self.columns.append((int(kind), tile, position, capacity, r if group is None else group))
        return r

    def arc(self, source: int, target: int, latency: int = 0, gate: int = -1) -> None:
        """Let signals go from ``source`` to ``target`` in ``latency`` cycles, and one more when bit ``gate`` is on.

        An arc that is added twice counts once. ArchError beyond ``MAX_ARCS``: a description with a slip of the hand in
        its size should end in a message, not in a machine without memory.
        """
        if len(self.arcs) >= MAX_ARCS:
            raise ArchError(f"the array has more than {MAX_ARCS} arcs; describe a smaller one")
        self.arcs.append((source, target, latency, gate))

    def build(self, **fields: Any) -> Arch:
        """Return the Arch; ``fields`` are those of its fields that the builder does not hold.

        Arcs are sorted and made unique here, so that the order in which a family adds them does not matter.
        """
        columns = np.array(self.columns, dtype=np.int32).reshape(-1, 5)
        arcs = np.array(sorted(set(self.arcs)), dtype=np.int32).reshape(-1, 4)
        return Arch(
            tiles=tuple(self.tiles),
            resource_names=tuple(self.names),
            kind=columns[:, 0].copy(),
            tile=columns[:, 1].copy(),
            position=columns[:, 2].copy(),
            capacity=columns[:, 3].copy(),
            group=columns[:, 4].copy(),
            arc_source=arcs[:, 0].copy(),
            arc_target=arcs[:, 1].copy(),
            arc_latency=arcs[:, 2].copy(),
            arc_gate=arcs[:, 3].copy(),
            pools=tuple(self.pools),
            register_files=tuple(self.register_files),
            banks=tuple(self.banks),
            **fields,
        )


def _check_trait(trait: str) -> None:
    """Raise ArchError for a trait that no declaration has."""
    if not registry.has_trait(trait):
        raise ArchError(f"no trait is called {trait!r}; known: {', '.join(registry.traits())}")
