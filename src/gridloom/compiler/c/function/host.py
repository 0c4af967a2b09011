"""Runs generated code on a memory: what the names of the code mean, arguments in, the returned value out."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any

import numpy as np

from gridloom.compiler.c.arrays import initial_bytes
from gridloom.compiler.c.function.host_calls import call
from gridloom.compiler.c.function.host_code import HostCode, python_name
from gridloom.compiler.c.function.memory import Memory
from gridloom.compiler.ir.ir import Function, IrModule
from gridloom.compiler.ir.layout import DataLayout
from gridloom.errors import SourceError

#: Bytes for local arrays and calls.
STACK = 1 << 20


class Host:
    """Code that is ready to run again and again. ``marks`` says how many loops tell of themselves."""

    def __init__(self, module: IrModule, code: HostCode, file: str) -> None:
        self.module, self.code, self.file = module, code, file
        self.compiled: CodeType = compile(code.text, f"<{file}>", "exec")
        self.has_stack = "MEMORY.push" in code.text

    def memory(self, objects: Mapping[str, bytes]) -> Memory:
        """A memory with the objects given and every global as the file initialises it.

        A global may be given by its name as well, to start with other contents. One of other files, and a table of
        something other than numbers, has no bytes: reading it ends the run.
        """
        return Memory({**self.contents(), **objects}, self.stack)

    def contents(self) -> dict[str, bytes]:
        """The bytes of every global as the file initialises it."""
        layout = DataLayout(self.module.structs)
        # What the host cannot know has no bytes, so that whoever reads it is told.
        return {global_key(n): initial_bytes(variable, layout) or b"" for n, variable in self.module.globals.items()}

    @property
    def stack(self) -> int:
        """Bytes for local arrays and calls."""
        return STACK if self.has_stack else 0

    def run(
        self, memory: Memory, function: Function, arguments: Sequence[Any], hooks: Mapping[str, Callable[..., None]],
        limit: int, counts: list[int],
    ) -> Any:  # fmt: skip
        """Call a function and return what it returns; ``counts`` gets how often each block ran, while it runs.

        ``hooks`` are the functions ``ENTER_k`` and ``LEAVE_k`` of the marks. SourceError for accesses outside of
        objects, divisions by zero and loops of more than ``limit`` iterations.
        """
        counts[:] = [0] * self.code.blocks
        names = self._names(memory, counts, limit)
        names.update(hooks)
        exec(self.compiled, names)
        try:
            with np.errstate(all="ignore"):
                value = names[python_name(function.name)](*arguments)
        except IndexError:
            raise SourceError("accesses memory through a pointer that leads nowhere", where=self.file) from None
        except RecursionError:
            raise SourceError("calls itself too deeply for the host", where=self.file) from None
        except SourceError as error:
            raise error if error.where else error.at(self.file) from None
        return value

    def _names(self, memory: Memory, counts: list[int], limit: int) -> dict[str, Any]:
        """What the names of the generated code mean on a memory."""
        names: dict[str, Any] = {
            "MEMORY": memory, "COUNT": counts, "LIMIT": limit, "STOP": _stop, "LOAD": memory.load,
            "STORE": memory.store, "F32": np.float32, "F64": np.float64, "FMOD": np.fmod, **_ARITHMETIC,
        }  # fmt: skip
        for kind, view in memory.views.items():
            names[f"V_{kind}"] = view
        for size, table in memory.whole.items():
            names[f"W{size}"] = table
        for k, name in enumerate(self.module.globals):
            names[f"G_{k}"] = memory.objects[global_key(name)].address
        names.update(self.code.constants)
        for name, (callee, kinds, line) in self.code.calls.items():
            names[name] = call(memory, callee, kinds, line)
        return names


def global_key(name: str) -> str:
    """The name of a global among the objects of a memory; parameters have plain names."""
    return f"@{name}"


def _stop(line: int, what: str = "runs for too many iterations; raise the limit or check that it ends") -> None:
    """End a run that should not go on."""
    raise SourceError(f"line {line} {what}")


def _divide(a: int, b: int, line: int) -> int:
    """The quotient rounded towards zero."""
    if b == 0:
        raise SourceError(f"line {line} divides by zero")
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _wrap(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def _signed_quotient(a: int, b: int, bits: int, line: int) -> int:
    return _wrap(_divide(a, b, line), bits)


def _signed_remainder(a: int, b: int, bits: int, line: int) -> int:
    return a - _divide(a, b, line) * b


def _unsigned_quotient(a: int, b: int, bits: int, line: int) -> int:
    mask = (1 << bits) - 1
    return _wrap(_divide(a & mask, b & mask, line), bits)


def _unsigned_remainder(a: int, b: int, bits: int, line: int) -> int:
    mask = (1 << bits) - 1
    _divide(a & mask, b & mask, line)
    return _wrap((a & mask) % (b & mask), bits)


def _to_real(value: int, kind: str) -> Any:
    """An integer as a single or a double, rounded once."""
    number = np.float32 if kind == "float" else np.float64
    if -(1 << 53) <= value <= 1 << 53:
        return number(value)
    return (np.uint64(value) if value >= 1 << 63 else np.int64(value)).astype(number)


def _to_integer(value: Any, bits: int, signed: bool) -> int:
    """A real number without its fraction; what does not fit is undefined in C and saturates here."""
    if value != value:
        return 0
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    if value in (np.inf, -np.inf):
        return _wrap(high if value > 0 else low, bits)
    return _wrap(min(max(int(value), low), high), bits)


_PATTERNS = {"float": "f", "double": "d", "i32": "i", "i64": "q"}


def _bitcast(value: Any, source: str, target: str) -> Any:
    """The bits of a value read as another type."""
    raw = np.asarray(value, dtype=np.dtype(_PATTERNS[source])).tobytes()
    found = struct.unpack(f"<{_PATTERNS[target]}", raw)[0]
    return {"float": np.float32, "double": np.float64}.get(target, int)(found)


_ARITHMETIC: dict[str, Any] = {
    "SDIV": _signed_quotient, "SREM": _signed_remainder, "UDIV": _unsigned_quotient, "UREM": _unsigned_remainder,
    "TO_REAL": _to_real, "TO_INTEGER": _to_integer, "BITCAST": _bitcast,
}  # fmt: skip
