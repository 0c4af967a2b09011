"""A function of the IR as Python source: blocks behind a dispatch, loops that are marked, executions counted.

Each block counts how often it runs. Where control enters a marked loop, the code calls ``ENTER_k`` with the values
that the mark asks for; where it leaves the loop, ``LEAVE_k`` with the number of the exit and the values that the loop
leaves. A block that only loops to itself becomes a ``while`` of its own, which is most of the speed.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from gridloom.compiler.analysis.loops import NaturalLoop
from gridloom.compiler.c.function.host_calls import IGNORED, known
from gridloom.compiler.c.function.host_ops import SCALARS, expression, is_real
from gridloom.compiler.ir.ir import (
    BasicBlock,
    Constant,
    Function,
    Global,
    GlobalAddress,
    Instruction,
    IrModule,
    IrParameter,
    Opaque,
    Value,
)
from gridloom.compiler.ir.layout import DataLayout
from gridloom.errors import SourceError


class LoopVariant(NamedTuple):
    """One of the forms in which a loop of a program may run; unique in the program.

    >>> LoopVariant(3).label, LoopVariant(3, "jam", 2).label
    ('3', '3_jam2')
    """

    #: The position of the loop in its program.
    loop: int
    #: The loop as it stands, with outer iterations side by side, the outer loop of those, the nest with its loops
    #: interchanged, the loop with the outer loops that a loop controller runs, or the inner loop of a nest.
    kind: Literal["plain", "jam", "jam_outer", "interchange", "controller", "inner"] = "plain"
    #: Outer iterations side by side.
    factor: int = 1

    @property
    def label(self) -> str:
        """The end of the names of the functions that generated code calls for it."""
        if self.kind == "plain":
            return str(self.loop)
        return f"{self.loop}_{self.kind}{self.factor if self.factor > 1 else ''}"


@dataclass(frozen=True, eq=False)
class Mark:
    """A loop of a function that the code tells about, by the label ``k`` of its variant.

    ``given`` are the values that are read when the loop is entered (header phis
    hold what they start from), ``left`` those that are read when it is left. Of a loop that is ``watched``, the code
    calls ``TEST_k`` with the values of ``left`` whenever its exit is asked for, and leaves it where that returns True;
    and ``SEE_k`` with the number, the address and the value of each of the accesses that are ``seen``: of a load after
    it, of a store before it. Such a loop has one block that leaves it.
    """

    variant: LoopVariant
    loop: NaturalLoop
    given: Sequence[Value]
    left: Sequence[Instruction]
    watched: bool = False
    seen: Sequence[Instruction] = ()


@dataclass
class HostCode:
    """Python source of the functions of a module, and the objects that it names."""

    text: str = ""
    #: Name -> what the source means by it, where that does not depend on the memory.
    constants: dict[str, Any] = field(default_factory=dict)
    #: Name -> (callee, types of result and operands, line).
    calls: dict[str, tuple[str, tuple[str, ...], int]] = field(default_factory=dict)
    #: Function -> the number of its first block in the counts; blocks follow in their order.
    first_block: dict[str, int] = field(default_factory=dict)
    blocks: int = 0

    def block_number(self, function: Function, name: str) -> int:
        """The position of a block in the counts."""
        return self.first_block[function.name] + list(function.blocks).index(name)


def host_code(module: IrModule, functions: Sequence[Function], marks: Sequence[Mark], file: str) -> HostCode:
    """The Python source of some functions; SourceError for what the host does not know, with file and line.

    Linear in instructions.
    """
    code = HostCode()
    for function in functions:
        code.first_block[function.name] = code.blocks
        code.blocks += len(function.blocks)
    parts = []
    for function in functions:
        own = sorted((mark for mark in marks if mark.loop.function is function), key=lambda m: -len(m.loop.blocks))
        parts.append(_Writer(module, function, own, file, code).source())
    code.text = "\n\n".join(parts) + "\n"
    return code


def python_name(function: str) -> str:
    """The name of a function in the generated code."""
    return "F_" + "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in function)


class _Writer:
    """Writes one function."""

    def __init__(self, module: IrModule, function: Function, marks: Sequence[Mark], file: str, code: HostCode) -> None:
        self.module, self.function, self.marks, self.file, self.code = module, function, marks, file, code
        self.layout = DataLayout(module.structs)
        self.number = {name: k for k, name in enumerate(function.blocks)}
        self.names: dict[Value, str] = {argument: f"a{k}" for k, argument in enumerate(function.arguments)}
        for block in function.blocks.values():
            for item in block.instructions:
                self.names[item] = f"v{len(self.names)}"
        self.lines: list[str] = []
        self.inside = {mark.variant: set(mark.loop.blocks) for mark in marks}
        self.headers = _loop_headers(function)
        self.has_stack = any(i.opcode == "alloca" for b in function.blocks.values() for i in b.instructions)

    def source(self) -> str:
        """The text of the function."""
        parameters = ", ".join(self.names[argument] for argument in self.function.arguments)
        self._emit(0, f"def {python_name(self.function.name)}({parameters}):")
        # What a loop leaves may not be computed on every way out of it.
        for name in sorted({self.names[item] for mark in self.marks for item in mark.left}):
            self._emit(1, f"{name} = 0")
        depth = 1
        if self.has_stack:
            self._emit(1, "mark = MEMORY.mark")
            self._emit(1, "try:")
            depth = 2
        self._emit(depth, "b = 0")
        self._emit(depth, "while True:")
        self._dispatch(depth + 1, list(self.function.blocks))
        if self.has_stack:
            self._emit(1, "finally:")
            self._emit(2, "MEMORY.release(mark)")
        return "\n".join(self.lines)

    def _emit(self, depth: int, text: str) -> None:
        self.lines.append(" " * depth + text)

    def _dispatch(self, depth: int, names: list[str]) -> None:
        """A binary search over block numbers, with the block's code at each leaf."""
        if len(names) == 1:
            self._block(depth, self.function.blocks[names[0]])
            return
        half = len(names) // 2
        self._emit(depth, f"if b < {self.number[names[half]]}:")
        self._dispatch(depth + 1, names[:half])
        self._emit(depth, "else:")
        self._dispatch(depth + 1, names[half:])

    # -- blocks -----------------------------------------------------------------------------------------------------

    def _block(self, depth: int, block: BasicBlock) -> None:
        """The code of a block: its count, its instructions and where control goes."""
        loops = block.name in block.successors
        if loops:
            self._emit(depth, "while True:")
            depth += 1
        count = f"COUNT[{self.code.first_block[self.function.name] + self.number[block.name]}]"
        self._emit(depth, f"{count} += 1")
        if block.name in self.headers:
            self._emit(depth, f"if {count} > LIMIT: STOP({self._line(block)})")
        for item in block.instructions:
            if item.opcode != "phi" and item is not block.terminator:
                self._instruction(depth, item)
        self._terminator(depth, block, loops)

    def _line(self, block: BasicBlock) -> int:
        return next((item.line for item in block.instructions if item.line), self.function.line)

    def _instruction(self, depth: int, item: Instruction) -> None:
        """One instruction as a line of Python. SourceError with file and line for what is not known."""
        try:
            text = self._text(item)
        except SourceError as error:
            raise error if error.where else error.at(f"{self.file}:{item.line or self.function.line}") from None
        if item.opcode == "store":
            self._see(depth, item, item.operands[0])
        for line in text.splitlines():
            self._emit(depth, f"{self.names[item]} = {line}" if item.type != "void" else line)
        if item.opcode == "load":
            self._see(depth, item, item)

    def _see(self, depth: int, item: Instruction, value: Value) -> None:
        """Tell about an access of a watched loop."""
        for mark in self.marks:
            for k, access in enumerate(mark.seen):
                if access is item:
                    told = f"{k}, {self.value(item.operands[-1])}, {self.value(value)}"
                    self._emit(depth, f"SEE_{mark.variant.label}({told})")

    def _text(self, item: Instruction) -> str:
        operands = [self.value(operand) for operand in item.operands]
        if item.opcode == "load":
            return self._load(item, operands[0])
        if item.opcode == "store":
            return self._store(item, operands[0], operands[1])
        if item.opcode == "alloca":
            return f"MEMORY.push({self._stack_size(item)})"
        if item.opcode == "call":
            return self._call(item, operands)
        return expression(item, operands, self.layout)

    def _load(self, item: Instruction, address: str) -> str:
        """A read through the view of its type, or through the memory where it is not whole and aligned."""
        kind = _stored_type(item.type)
        size = self.layout.size(kind)
        shift = size.bit_length() - 1
        index = f"{address} >> {shift}" if shift else address
        view = f"V_{kind}"
        text = f"{view}[{index}] if W{size}[{address}] else LOAD({address}, {kind!r}, {item.line})"
        if item.type in ("float", "double"):
            return f"{'F32' if item.type == 'float' else 'F64'}({text})"
        if item.type == "ptr":
            return f"({text}) & 0xffffffff"
        return f"({text}) & 1" if item.type == "i1" else text

    def _store(self, item: Instruction, value: str, address: str) -> str:
        """A write, in two lines."""
        source = item.operands[0].type
        kind = _stored_type(source)
        size = self.layout.size(kind)
        shift = size.bit_length() - 1
        index = f"{address} >> {shift}" if shift else address
        if source == "ptr":
            value = f"((({value}) + 0x80000000) & 0xffffffff) - 0x80000000"
        whole = f"if W{size}[{address}]: V_{kind}[{index}] = {value}"
        return f"{whole}\nelse: STORE({address}, {value}, {kind!r}, {item.line})"

    def _stack_size(self, item: Instruction) -> int:
        """Bytes of a local variable."""
        count = item.operands[0] if item.operands else None
        if not item.source_type or not isinstance(count, Constant | None):
            raise SourceError("it has a local array whose length is not fixed")
        return self.layout.size(item.source_type) * (count.value if count else 1)

    def _call(self, item: Instruction, operands: list[str]) -> str:
        """A call of a function of the module, or of one that the host knows."""
        if item.callee == "llvm.assume":
            return f"if not {operands[0]}: STOP({item.line}, 'breaks what the source assumes')"
        if item.callee.startswith(IGNORED):
            return ""
        if item.callee in self.code.first_block:
            return f"{python_name(item.callee)}({', '.join(operands)})"
        if not known(item.callee):
            what = f"calls {item.callee!r}, which has no body in the files"
            what = what if item.callee else "calls through a pointer"
            return f"STOP({item.line}, {what + '; the host does not know it'!r})"
        name = f"K{len(self.code.calls)}"
        self.code.calls[name] = (item.callee, (item.type, *(operand.type for operand in item.operands)), item.line)
        return f"{name}({', '.join(operands)})"

    # -- values -----------------------------------------------------------------------------------------------------

    def value(self, value: Value) -> str:
        """The expression of a value."""
        if isinstance(value, IrParameter | Instruction):
            return self.names[value]
        if isinstance(value, Global):
            return self._global(value)
        if isinstance(value, GlobalAddress):
            return f"({self._global(value.base)} + {value.offset})"
        if isinstance(value, Constant):
            return self._constant(value)
        return self._opaque(value)

    def _global(self, variable: Global) -> str:
        """The name that holds a global's address."""
        return f"G_{list(self.module.globals).index(variable.name)}"

    def _constant(self, value: Constant) -> str:
        if value.type == "float":
            return self._number(np.frombuffer(struct.pack("<I", value.value & 0xFFFFFFFF), np.float32)[0])
        if value.type == "double":
            return self._number(np.float64(0.0))
        if value.type == "i1":
            return str(value.value & 1)
        return str(value.value)

    def _opaque(self, value: Opaque) -> str:
        """A constant that the reader leaves as text: doubles are read here, anything else is refused."""
        kind, _, text = value.text.partition(" ")
        if kind == "double" and text.startswith("0x"):
            return self._number(np.float64(struct.unpack(">d", int(text, 16).to_bytes(8, "big"))[0]))
        if kind == "double":
            return self._number(np.float64(float(text)))
        if value.text.startswith("{"):
            return "(0, 0)"
        raise SourceError(f"it uses a constant that is not read here: {value.text}")

    def _number(self, number: Any) -> str:
        name = f"N{len(self.code.constants)}"
        self.code.constants[name] = number
        return name

    # -- control ----------------------------------------------------------------------------------------------------

    def _terminator(self, depth: int, block: BasicBlock, loops: bool) -> None:
        """Where control goes at the end of a block."""
        item = block.terminator
        for mark in self.marks:
            if mark.watched and mark.loop.exits[0][0] == block.name:
                self._emit(depth, f"if TEST_{mark.variant.label}(({self._left(mark)})):")
                self._edge(depth + 1, block.name, mark.loop.exits[0][1], loops)
                if not loops:
                    self._emit(depth + 1, "continue")
        if item.opcode == "ret":
            self._emit(depth, f"return {self.value(item.operands[0])}" if item.operands else "return None")
        elif item.opcode == "br" and not item.operands:
            self._edge(depth, block.name, item.targets[0], loops)
        elif item.opcode == "br":
            self._emit(depth, f"if {self.value(item.operands[0])}:")
            self._edge(depth + 1, block.name, item.targets[0], loops)
            self._emit(depth, "else:")
            self._edge(depth + 1, block.name, item.targets[1], loops)
        elif item.opcode == "switch":
            subject = self.value(item.operands[0])
            word = "if"
            for case, target in zip(item.operands[1:], item.targets[1:]):
                self._emit(depth, f"{word} {subject} == {self.value(case)}:")
                self._edge(depth + 1, block.name, target, loops)
                word = "elif"
            self._emit(depth, "if True:" if word == "if" else "else:")
            self._edge(depth + 1, block.name, item.targets[0], loops)
        elif item.opcode == "unreachable":
            self._emit(depth, f"STOP({item.line}, 'reaches what C leaves undefined')")
        else:
            where = f"{self.file}:{item.line or self.function.line}"
            raise SourceError(f"instruction {item.opcode!r} is not known to the host", where=where)

    def _left(self, mark: Mark) -> str:
        """The values that a loop leaves, as the items of a tuple."""
        return "".join(f"{self.names[item]}, " for item in mark.left)

    def _edge(self, depth: int, source: str, target: str, loops: bool) -> None:
        """Go from a block to another: tell about loops that end, copy what the target's phis take, tell what begins.

        Marks stand outermost first: an inner loop ends before the loop around it, and begins after it.
        """
        for mark in reversed(self.marks):
            if source in self.inside[mark.variant] and target not in self.inside[mark.variant]:
                exits = mark.loop.exits.index((source, target))
                self._emit(depth, f"LEAVE_{mark.variant.label}({exits}, ({self._left(mark)}))")
        phis = [item for item in self.function.blocks[target].instructions if item.opcode == "phi"]
        pairs = [(self.names[phi], self.value(phi.operands[phi.incoming.index(source)])) for phi in phis]
        pairs = [(name, text) for name, text in pairs if name != text]
        if pairs:
            self._emit(depth, f"{', '.join(name for name, _ in pairs)} = {', '.join(text for _, text in pairs)}")
        for mark in self.marks:
            if target == mark.loop.header and source not in self.inside[mark.variant]:
                given = "".join(f"{self.value(value)}, " for value in mark.given)
                self._emit(depth, f"ENTER_{mark.variant.label}(({given}))")
        if source == target:
            self._emit(depth, "continue")
            return
        self._emit(depth, f"b = {self.number[target]}")
        if loops:
            self._emit(depth, "break")


def _stored_type(kind: str) -> str:
    """The type of the view that holds a value in memory."""
    kind = {"i1": "i8", "ptr": "i32"}.get(kind, kind)
    if kind not in SCALARS:
        is_real(kind)
        raise SourceError(f"it loads or stores {kind}; 8-, 16-, 32- and 64-bit integers, float and double are taken")
    return kind


def _loop_headers(function: Function) -> set[str]:
    """Blocks that an edge from a later block, or from themselves, goes to: every cycle has one."""
    rank: Mapping[str, int] = {name: k for k, name in enumerate(function.blocks)}
    return {t for name, block in function.blocks.items() for t in block.successors if rank[t] <= rank[name]}
