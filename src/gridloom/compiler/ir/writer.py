"""Records as LLVM IR: copies of functions, new instructions, and the text of a module.

A pass copies a function, changes operands, targets and blocks of the copy, makes instructions with a :class:`Builder`,
and writes the module. An instruction that was read keeps its line around its operands, with the flags that clang gave
it; one that was made is written from its fields.

Where a function gets calls that clang has not seen, what clang promised about functions and pointers no longer holds
(``memory(...)``, ``noalias``). A module is then written ``bare``: without attributes and metadata.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from gridloom.compiler.ir.ir import (
    BasicBlock,
    Constant,
    Function,
    Global,
    GlobalAddress,
    Instruction,
    IrModule,
    IrParameter,
    Value,
)
from gridloom.compiler.ir.layout import split_types
from gridloom.errors import SourceError

_CONTROL: Final = ("br", "switch", "phi")
_CASTS: Final = ("sext", "zext", "trunc")
#: The first word of what clang promises about a function, a pointer or a result.
_PROMISES: Final = frozenset({
    "noalias", "nonnull", "readonly", "readnone", "writeonly", "nocapture", "nofree", "captures", "memory",
    "dereferenceable", "dereferenceable_or_null", "initializes", "dead_on_return", "noundef", "local_unnamed_addr",
    "unnamed_addr", "range", "nofpclass", "writable", "dead_on_unwind",
})  # fmt: skip


class Builder:
    """Makes instructions at the end of one block of a function; each gets a name of its own, from ``prefix``."""

    def __init__(self, function: Function, block: str, prefix: str) -> None:
        self.block = function.blocks.setdefault(block, BasicBlock(block, []))
        self.prefix, self.made = prefix, 0

    def add(
        self, opcode: str, kind: str, *operands: Value, callee: str = "", source_type: str = ""
    ) -> Instruction:  # fmt: skip
        """An instruction; ``icmp eq`` is an opcode with its predicate."""
        self.made += 1
        made = make(f"{self.prefix}.{self.made}", self.block.name, opcode, kind, *operands, callee=callee)
        made.source_type = source_type
        self.block.instructions.append(made)
        return made

    def phi(self, kind: str, *pairs: tuple[Value, str]) -> Instruction:
        """A phi; more ways may be added to its operands and sources."""
        self.made += 1
        made = Instruction(f"{self.prefix}.{self.made}", kind, "phi", "", self.block.name)
        made.operands, made.incoming = [value for value, _ in pairs], [source for _, source in pairs]
        self.block.instructions.append(made)
        return made

    def go(self, *targets: str, on: Value | None = None, metadata: str = "") -> None:
        """The branch that ends the block."""
        made = Instruction("", "void", "br", "", self.block.name, operands=[] if on is None else [on])
        made.targets, made.metadata = list(targets), metadata
        self.block.instructions.append(made)

    def copy(self, item: Instruction, value: Callable[[Value], Value]) -> Instruction:
        """A copy of an instruction; ``value`` gives its operands."""
        self.made += 1
        made = replace(item, name=f"{self.prefix}.{self.made}", block=self.block.name)
        made.operands = [value(operand) for operand in item.operands]
        self.block.instructions.append(made)
        return made


def make(name: str, block: str, opcode: str, kind: str, *operands: Value, callee: str = "") -> Instruction:
    """An instruction that is in no block yet."""
    opcode, _, predicate = opcode.partition(" ")
    made = Instruction(name, kind, opcode, "", block, operands=list(operands), predicate=predicate)
    made.callee = callee
    return made


def phis_of(block: BasicBlock) -> list[Instruction]:
    """The phis of a block."""
    return [item for item in block.instructions if item.opcode == "phi"]


def way_from(phi: Instruction, source: str) -> Value:
    """What a phi gets from a block."""
    return phi.operands[phi.incoming.index(source)]


def add_way(phi: Instruction, value: Value, source: str) -> None:
    """Let a phi get a value from one more block."""
    phi.operands.append(value)
    phi.incoming.append(source)


def gather_entry(function: Function, blocks: set[str], header: str, made: Builder) -> dict[Instruction, Instruction]:
    """Lead all ways into a loop through a new block; header phi -> the phi of that block which holds its start.

    The header's phis keep the ways from inside alone.
    """
    starts: dict[Instruction, Instruction] = {}
    for phi in phis_of(function.blocks[header]):
        pairs = list(zip(phi.operands, phi.incoming))
        starts[phi] = made.phi(phi.type, *(pair for pair in pairs if pair[1] not in blocks))
        kept = [pair for pair in pairs if pair[1] in blocks]
        phi.operands, phi.incoming = [value for value, _ in kept], [source for _, source in kept]
    for block in function.blocks.values():
        if block.name not in blocks and block.instructions and block is not made.block:
            end = block.terminator
            end.targets = [made.block.name if target == header else target for target in end.targets]
    return starts


def readers_behind(function: Function, blocks: set[str]) -> list[tuple[Instruction, int, Instruction]]:
    """Where values of some blocks are read outside of them: reader, operand, value; not phis at edges from inside."""
    found = []
    for block in function.blocks.values():
        for item in block.instructions if block.name not in blocks else ():
            for k, value in enumerate(item.operands):
                at_edge = item.opcode == "phi" and item.incoming[k] in blocks
                if isinstance(value, Instruction) and value.block in blocks and not at_edge:
                    found.append((item, k, value))
    return found


def copy_function(function: Function) -> tuple[Function, dict[Value, Value]]:
    """A function whose instructions may be changed, and the copy of each instruction. Linear."""
    copies: dict[Value, Value] = {}
    blocks = {}
    for name, block in function.blocks.items():
        row = [replace(i, incoming=list(i.incoming), targets=list(i.targets)) for i in block.instructions]
        copies.update(zip(block.instructions, row))
        blocks[name] = BasicBlock(name, row)
    for block in blocks.values():
        for item in block.instructions:
            item.operands = [copies.get(operand, operand) for operand in item.operands]
    return replace(function, blocks=blocks), copies


# -- text -------------------------------------------------------------------------------------------------------------


def write_module(
    module: IrModule, functions: Mapping[str, Function], *, bare: bool = False, declared: Sequence[str] = (),
    more: Sequence[str] = (),
) -> str:  # fmt: skip
    """The text of a module with some functions changed; ``declared`` and ``more`` are lines before and behind them."""
    before: Iterable[str] = module.before
    if bare:
        kept = (line for line in before if not line.startswith(("target triple", "source_filename")))
        before = ['target triple = "riscv32-unknown-none-elf"', *map(_bare_line, kept)]
    bodies = [write_function(functions.get(name, f), bare=bare) for name, f in module.functions.items()]
    return "\n".join([*before, *declared, "", *bodies, "", *more, *(() if bare else module.after), ""])


def write_function(function: Function, *, bare: bool = False) -> str:
    """The text of a function. SourceError for what was not read as a record."""
    lines = [_bare_line(function.head) if bare else function.head]
    for block in function.blocks.values():
        lines += ["", f"{_word(block.name)}:"] if len(lines) > 1 else [f"{_word(block.name)}:"]
        # Phis stand first, wherever they were put.
        rows = sorted(block.instructions, key=lambda item: item.opcode != "phi")
        for item in rows:
            text = write_instruction(item)
            calls = bare and item.opcode == "call"
            lines.append("  " + (_without_promises(text) if calls else text) + ("" if bare else item.metadata))
    return "\n".join([*lines, "}"])


def operand_text(value: Value) -> str:
    """A value as an operand is written. SourceError for a constant that is not read."""
    if isinstance(value, IrParameter | Instruction):
        return f"%{_word(value.name)}"
    if isinstance(value, Global):
        return f"@{value.name}"
    if isinstance(value, GlobalAddress):
        return f"getelementptr (i8, ptr @{value.base.name}, i32 {value.offset})"
    if isinstance(value, Constant) and value.undefined:
        return "undef"
    if isinstance(value, Constant) and value.type == "float":
        single = struct.unpack("<f", struct.pack("<i", value.value))[0]
        return f"0x{struct.pack('>d', single).hex().upper()}"
    if isinstance(value, Constant):
        return (
            "null"
            if value.type == "ptr"
            else str(value.value)
            if value.type != "i1"
            else str(bool(value.value)).lower()
        )
    raise SourceError(f"cannot be rewritten: it uses the constant {value.text}")


def _word(name: str) -> str:
    """The name of a value or block; LLVM's own numbers become names, since changes would put them out of order.

    A name that a number became when the text was written before is another one now, since LLVM counts anew.
    """
    if not all(letter.isalnum() or letter in "-_.$" for letter in name) or not name.isascii():
        raise SourceError(f"cannot be rewritten: {name!r} needs quotes")
    if name.startswith("gl.v"):
        return f"{name}.v"
    return f"gl.v{name}" if name.isdigit() else name


def _typed(value: Value) -> str:
    return f"{value.type} {operand_text(value)}"


def write_instruction(item: Instruction) -> str:
    """The text of an instruction: its line with other operands, or what its fields say."""
    if item.opcode in _CONTROL or not item.pieces:
        text = _made_text(item)
    else:
        names = [operand_text(item.operands[k]) for k in item.slots]
        text = "".join(part for pair in zip(item.pieces, [*names, ""]) for part in pair)
    return text if item.type == "void" else f"%{_word(item.name)} = {text}"


def _made_text(item: Instruction) -> str:
    """The text of an instruction by its fields."""
    values, kind, opcode = item.operands, item.type, item.opcode
    # A line that was read and could not be taken apart is not put together from less.
    if f" {opcode} " in item.text and opcode not in _CONTROL:
        raise SourceError(f"cannot be rewritten: {item.text.strip()}")
    if opcode == "phi":
        pairs = (f"[ {operand_text(v)}, %{_word(s)} ]" for v, s in zip(values, item.incoming))
        return f"phi {kind} {', '.join(pairs)}"
    labels = [f"label %{_word(target)}" for target in item.targets]
    if opcode == "br":
        return f"br {labels[0]}" if len(labels) == 1 else f"br {_typed(values[0])}, {labels[0]}, {labels[1]}"
    if opcode == "switch":
        cases = " ".join(f"{_typed(case)}, {label}" for case, label in zip(values[1:], labels[1:]))
        return f"switch {_typed(values[0])}, {labels[0]} [ {cases} ]"
    if opcode == "call":
        return f"call {kind} @{item.callee}({', '.join(map(_typed, values))})"
    if opcode in _CASTS:
        return f"{opcode} {_typed(values[0])} to {kind}"
    if opcode in ("load", "alloca"):
        return f"{opcode} {kind if opcode == 'load' else item.source_type}" + "".join(f", {_typed(v)}" for v in values)
    if opcode == "getelementptr":
        return f"getelementptr {item.source_type}, {', '.join(map(_typed, values))}"
    if opcode in ("select", "store", "ret"):
        return f"{opcode} {', '.join(map(_typed, values)) or 'void'}"
    first = f"{opcode} {item.predicate} " if item.predicate else f"{opcode} "
    return first + f"{values[0].type} {', '.join(map(operand_text, values))}"


# -- promises ---------------------------------------------------------------------------------------------------------


def _bare_line(line: str) -> str:
    """A line outside of functions, or the first one of a function, without metadata, attributes and promises."""
    words = [word for word in _words(line) if not word.startswith("!") or line.startswith("!")]
    text = _without_promises(" ".join(words).removesuffix(","))
    if text.startswith("@"):
        # main names the variables of the file, and they are not removed.
        text = text.replace("= internal ", "= ", 1)
    return text


def _without_promises(text: str) -> str:
    """A head, a declaration or a call without what clang promises about it; arguments alike."""
    if text.startswith("@"):
        name, _, rest = text.partition(" = ")
        return f"{name} = {' '.join(w for w in _words(rest) if w.partition('(')[0] not in _PROMISES)}"
    kept = []
    for word in _words(text):
        if word.startswith("#") or word.partition("(")[0] in _PROMISES:
            continue
        if word[0] in "@%" and word.endswith(")") and "(" in word:
            name, _, arguments = word[:-1].partition("(")
            word = f"{name}({', '.join(map(_without_promises, split_types(arguments)))})"
        kept.append(word)
    return " ".join(kept)


def _words(text: str) -> list[str]:
    """The words of a line; what stands in brackets or quotes belongs to one word.

    >>> _words('declare range(i32 0, 4) i32 @f(ptr nonnull, i32) #1')
    ['declare', 'range(i32 0, 4)', 'i32', '@f(ptr nonnull, i32)', '#1']
    """
    words, depth, start, quoted = [], 0, 0, False
    for k, letter in enumerate(text):
        quoted ^= letter == '"'
        if not quoted:
            depth += (letter in "[{(<") - (letter in "]})>")
        if letter == " " and depth == 0 and not quoted:
            words.append(text[start:k])
            start = k + 1
    return [word for word in (*words, text[start:]) if word]
