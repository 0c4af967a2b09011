"""Arguments as text: ``n=64`` and ``a=in.npy`` of the command line become numbers and arrays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gridloom.compiler.c.function.signature import Signature
from gridloom.errors import OptionError
from gridloom.text_file import shown


def read_given(signature: Signature, numbers: Sequence[str], files: Sequence[str]) -> dict[str, Any]:
    """The arguments that ``--args`` and ``--data`` give. OptionError for a text, a file or a name that does not fit."""
    given: dict[str, Any] = {}
    for text in (part for item in numbers for part in item.split(",") if part):
        name, between, value = text.partition("=")
        if not between:
            raise OptionError(f"expected NAME=NUMBER, found {shown(text)}", where="--args")
        given[name.strip()] = _number(name.strip(), value.strip())
    for text in files:
        given.update(_arrays(signature, text))
    return given


def _number(name: str, text: str) -> int | float | None:
    """An integer (decimal or 0x...), a real number, or the null pointer."""
    if text in ("null", "NULL"):
        return None
    for convert in (lambda: int(text, 0), lambda: float(text)):
        try:
            return convert()
        except ValueError:
            continue
    raise OptionError(f"{name!r}: expected a number, found {shown(text)}", where="--args")


def _arrays(signature: Signature, text: str) -> dict[str, Any]:
    """The arrays of ``NAME=FILE.npy``, of ``FILE.npz``, or of ``FILE.npy`` where one array parameter has no name."""
    name, between, file = text.partition("=")
    if between:
        return {name: _load(Path(file))}
    path = Path(text)
    found = _load(path)
    if isinstance(found, dict):
        return found
    pointers = [parameter.name for parameter in signature.parameters if parameter.type.pointer]
    if len(pointers) != 1:
        listed = ", ".join(pointers) or "none"
        raise OptionError(f"{signature.name!r} has array parameters {listed}; write NAME={path}", where="--data")
    return {pointers[0]: found}


def _load(path: Path) -> Any:
    """The array of a ``.npy`` file, the arrays of an ``.npz`` file by name."""
    if path.suffix not in (".npy", ".npz"):
        raise OptionError(f"expected a file that ends in .npy or .npz, found {path}", where="--data")
    try:
        loaded = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise OptionError(f"{path} cannot be read: {error}", where="--data") from None
    if path.suffix == ".npz":
        return {name: loaded[name] for name in loaded.files}
    return loaded
