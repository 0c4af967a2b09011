"""LLVM IR as plain records: what the reader makes of a module and the rest of the front end works on.

Values are compared by identity. Integer constants are signed numbers, floats are the bit patterns of singles.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A number of an LLVM type.

    ``undefined`` marks undef and poison, which may be any number.
    """

    type: str
    value: int
    undefined: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class IrParameter:
    """A parameter of a function.

    ``apart`` is C's ``restrict``; ``bytes`` is what ``int x[static 8]`` promises, else 0.
    """

    name: str
    type: str
    apart: bool = False
    unsigned: bool = False
    bytes: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Global:
    """A variable with static storage: the type of its contents and, for tables, what they are.

    As a value it is its own address.
    """

    type: ClassVar[str] = "ptr"
    name: str
    contents_type: str
    initializer: str
    constant: bool


@dataclass(frozen=True, slots=True, eq=False)
class GlobalAddress:
    """An address inside a global, as bytes from its start."""

    type: ClassVar[str] = "ptr"
    base: Global
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Opaque:
    """A constant that the front end does not read.

    ``text`` is what the module says, for messages.
    """

    type: str
    text: str


@dataclass(slots=True, eq=False)
class Instruction:
    """One instruction.

    ``text`` is its line without metadata; ``targets`` and ``incoming`` are names of blocks.
    """

    name: str
    type: str
    opcode: str
    text: str
    block: str
    line: int = 0
    operands: list[Value] = field(default_factory=list)
    #: phi: where each operand comes from.
    incoming: list[str] = field(default_factory=list)
    #: br, switch: where control goes; (condition true, false) or (default, case, ...).
    targets: list[str] = field(default_factory=list)
    #: icmp, fcmp.
    predicate: str = ""
    #: call: the function's name.
    callee: str = ""
    #: getelementptr: the type that its indices step over; alloca: that of the object.
    source_type: str = ""
    #: load, store: the bytes that its address is a multiple of; 0 where that is not said.
    align: int = 0
    #: load, store: the scalar type by which C says what it may overlap; "" when it may overlap anything.
    access_type: str = ""
    #: The variable of the source that holds the value; "" where none does.
    variable: str = ""
    #: The line around the operands that have names, and which operands those are; what a copy is written with.
    pieces: tuple[str, ...] = ()
    slots: tuple[int, ...] = ()
    #: The metadata at the end of the line.
    metadata: str = ""

    def __repr__(self) -> str:
        return f"Instruction({self.text.strip()})"


Value = Constant | IrParameter | Global | GlobalAddress | Opaque | Instruction


@dataclass(slots=True, eq=False)
class BasicBlock:
    """A basic block."""

    name: str
    instructions: list[Instruction]

    @property
    def terminator(self) -> Instruction:
        """The instruction that leaves the block."""
        return self.instructions[-1]

    @property
    def successors(self) -> list[str]:
        """Where control may go, each once."""
        return list(dict.fromkeys(self.terminator.targets))


@dataclass(slots=True, eq=False)
class Function:
    """A function with a body."""

    name: str
    line: int
    arguments: list[IrParameter]
    blocks: dict[str, BasicBlock]
    #: Only functions of the module call it, so that clang may know what its arguments are.
    internal: bool = False
    #: Its first line.
    head: str = ""
    #: The user says that its pointers lead to different arrays.
    distinct: bool = False

    @property
    def entry(self) -> str:
        """The name of the first block."""
        return next(iter(self.blocks))


@dataclass(slots=True, eq=False)
class LoopSpan:
    """The lines of a loop in the source, as its metadata give them, and the name of its file without folders."""

    start: int
    end: int
    file: str = ""


@dataclass(slots=True, eq=False)
class IrModule:
    """A compiled file."""

    functions: dict[str, Function]
    globals: dict[str, Global]
    #: Named struct types: name -> text of the body.
    structs: dict[str, str]
    #: Branch instruction -> the loop that it closes.
    spans: dict[Instruction, LoopSpan]
    #: What stands outside of functions: types, globals and declarations; attributes and metadata.
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    #: Functions of the source that are not in the module: name -> (line, reason).
    refused: dict[str, tuple[int, str]] = field(default_factory=dict)
    #: What a pragma says of the iterations of a loop, ``ivdep`` or ``independent``, by file and line of its start.
    asserted: dict[tuple[str, int], str] = field(default_factory=dict)
    #: What clang took for granted in an old text.
    warnings: tuple[str, ...] = ()
