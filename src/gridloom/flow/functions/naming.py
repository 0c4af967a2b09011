"""Which function of which files is meant: ``FILE.c:FUNCTION``, several files, or a list of compile commands.

Without a function it is ``main``, or the only function of the files. ``only`` restricts the loops that are mapped to
those of some functions, whatever the program reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gridloom.compiler.ir.c_source import PLAIN, CSource, SourceOptions, gather_source, is_c
from gridloom.compiler.ir.driver import compile_to_ir
from gridloom.compiler.ir.linking import parse_module
from gridloom.compiler.loops.source_name import split
from gridloom.errors import OptionError
from gridloom.text_file import shown

#: What the whole program begins with.
MAIN = "main"
_EXPECTED = "expected FILE.c, FILE.c:FUNCTION or FILE.mlir:FUNCTION"


@dataclass(frozen=True, kw_only=True)
class NamedFunction:
    """A function of a C program."""

    source: CSource
    function: str
    #: The functions whose loops may be launched; all that the function reaches where it is empty.
    only: tuple[str, ...] = ()

    @property
    def is_program(self) -> bool:
        """True for a whole program, which brings its own data."""
        return self.function == MAIN


def name_function(
    texts: Sequence[str | Path], options: SourceOptions = PLAIN, only: Sequence[str] = ()
) -> NamedFunction:
    """The function that some texts name. OptionError where they name none, or several.

    Costs a run of clang for each file where no function is named.
    """
    if not texts:
        raise OptionError(_EXPECTED)
    names = [split(text) for text in texts]
    named = [name.rest for name in names if name.rest]
    for text, name in zip(texts, names):
        if not is_c(name.path) and name.path.suffix != ".json":
            raise OptionError(f"{_EXPECTED}, found {shown(str(text))}")
    if len(named) > 1:
        raise OptionError(f"functions {', '.join(named)} are named; name one, and others with --function")
    source = gather_source([name.path for name in names], options)
    function = named[0] if named else _find_entry(source, only)
    return NamedFunction(source=source, function=function, only=tuple(only))


def _find_entry(source: CSource, only: Sequence[str]) -> str:
    """``main``, the only function that is asked for, or the only one of the files."""
    module = parse_module(compile_to_ir(source), str(source.path))
    found = [str(function.name) for function in module.functions if not function.is_declaration]
    if MAIN in found:
        return MAIN
    if len(only) == 1:
        return only[0]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(found) or "none"
    raise OptionError(f"{source.path} has no main and these functions: {listed}; write {source.path}:FUNCTION")
