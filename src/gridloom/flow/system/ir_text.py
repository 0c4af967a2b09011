"""LLVM IR as text that can be changed: functions, blocks and lines, without what optimisation promised about them.

The front end's records are read from the same text. Here calls are put into it, so that every attribute which says what
a function or a pointer does not do (``memory(...)``, ``noalias``, ``nocapture``) and all metadata go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from gridloom.errors import SourceError

_NAME: Final = r"[-\w.$]+"
_LABEL: Final = re.compile(rf"^({_NAME}):")
_DEFINED: Final = re.compile(rf"^\s+%({_NAME}) = ")
_DEFINE: Final = re.compile(r'^define [^@]*@"?([^"(]+)"?\(')
_METADATA: Final = re.compile(r",? ![\w.]+ !\d+")
_PROMISES: Final = re.compile(
    r"\b(noalias|nonnull|readonly|readnone|writeonly|nocapture|nofree|captures\([^)]*\)|memory\([^)]*\)|"
    r"dereferenceable(_or_null)?\(\d+\)|initializes\([^)]*\)+|dead_on_return|noundef|local_unnamed_addr|unnamed_addr|"
    r"range\([^)]*\)|nofpclass\([^)]*\)|writable|dead_on_unwind) ?"
)
_GROUP: Final = re.compile(r" #\d+(?=\s|$|,)")


def token(name: str) -> re.Pattern[str]:
    """What finds a value or a block by name in a line."""
    return re.compile(rf"%{re.escape(name)}(?![-\w.$])")


@dataclass
class BlockText:
    """A block: its lines without the label; the last one leaves it."""

    name: str
    lines: list[str] = field(default_factory=list)

    @property
    def phis(self) -> int:
        """How many lines at the beginning are phis."""
        return next((k for k, line in enumerate(self.lines) if " = phi " not in line), len(self.lines))

    def successors(self) -> list[str]:
        """Where control may go, each once."""
        return list(dict.fromkeys(re.findall(rf"label %({_NAME})", self.lines[-1])))


@dataclass
class IrFunctionText:
    """A function: its first line, and its blocks by name in their order."""

    name: str
    head: str
    blocks: dict[str, BlockText]

    def definitions(self) -> dict[str, str]:
        """Value -> the block that defines it."""
        return {m[1]: b.name for b in self.blocks.values() for line in b.lines if (m := _DEFINED.match(line))}

    def text(self) -> str:
        """The function as IR."""
        lines = [self.head]
        for block in self.blocks.values():
            lines += [f"{block.name}:", *block.lines, ""]
        return "\n".join([*lines[:-1], "}"])


@dataclass
class ModuleText:
    """A module: functions by name, and all other lines."""

    before: list[str]
    functions: dict[str, IrFunctionText]
    after: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The module as IR."""
        bodies = [function.text() for function in self.functions.values()]
        return "\n".join([*self.before, "", *bodies, "", *self.after, ""])


def parse(text: str, *, keep: bool = False) -> ModuleText:
    """The module of clang's text, stripped; with ``keep`` all that it promises stays, and the source's lines.

    SourceError for names that need quotes.
    """
    module = ModuleText([], {})
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("define "):
            found = _DEFINE.match(line)
            if found is None:
                raise SourceError(f"cannot be rewritten: {line[:80]}")
            module.functions[found[1]] = _function(found[1], line, lines, keep)
        elif keep:
            (module.after if line.startswith(("attributes ", "!")) else module.before).append(line)
        elif line.startswith(("attributes ", "!", ";", "source_filename")):
            continue
        elif line.startswith("target triple"):
            module.before.append('target triple = "riscv32-unknown-none-elf"')
        else:
            module.before.append(clean(line))
    return module


def clean(line: str) -> str:
    """A line without metadata, attributes and promises."""
    line = _METADATA.sub("", line)
    line = _GROUP.sub("", line)
    if " = load " in line or " = phi " in line or line.lstrip().startswith("store"):
        return line
    return _PROMISES.sub("", line) if line.startswith(("define", "declare")) or "call" in line else line


def _function(name: str, head: str, lines: Iterator[str], keep: bool) -> IrFunctionText:
    """The function whose lines come next."""
    cleaned = str if keep else clean
    blocks: dict[str, BlockText] = {}
    current: BlockText | None = None
    for line in lines:
        if line == "}":
            break
        if not line.strip() or line.lstrip().startswith(("#dbg_", ";")):
            continue
        label = _LABEL.match(line)
        if label:
            current = blocks.setdefault(label[1], BlockText(label[1]))
            continue
        if current is None:
            raise SourceError(f"function {name!r} has a block without a name")
        if '%"' in line:
            raise SourceError(f"function {name!r} has names that need quotes")
        if current.lines and current.lines[-1].lstrip().startswith("switch") and "]" not in current.lines[-1]:
            current.lines[-1] += " " + cleaned(line).strip()
        else:
            current.lines.append(cleaned(line))
    return IrFunctionText(name, cleaned(head), blocks)
