"""Trained weights as files of plain arrays with a description: archives of numpy, never a pickle.

``NAME.npz`` holds the arrays of a state dictionary and one entry of JSON text; ``NAME.md`` is its model card. Loading
runs no code of the file. The format of torch is a pickle unless it is read with care, and for a file of a few hundred
kilobytes a further dependency would bring nothing over numpy.

The description of a file says which model it belongs to and what it was trained on; each model checks its own part of
it when it loads a file, because arrays of the right shapes could still be those of other features. Its scope says what
it was trained for, and :meth:`TrainingScope.outside` is the one place that compares a question with it.
"""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gridloom.errors import OptionError, SourceError
from gridloom.text_file import exists, read_bytes

_ABOUT: Final = "__about__"

#: What reading a damaged archive raises: of the archive, of its compression, of an array's header.
_DAMAGE: Final = (
    OSError, EOFError, ValueError, KeyError, TypeError, MemoryError, RecursionError, NotImplementedError,
    SyntaxError, zipfile.BadZipFile, zlib.error, struct.error, RuntimeError,
)  # fmt: skip

#: Bytes that the arrays of one file may take; the shipped ones take less than a hundredth of it.
MAX_UNPACKED: Final = 512 * 1024 * 1024


def weights_path(name: str) -> Path:
    """Return where the shipped weights of a name are in the package."""
    return Path(__file__).parent / f"{name}.npz"


def save(path: Path, arrays: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """Write arrays (or tensors) and a JSON-able description, whole or not at all.

    Tensors are converted to arrays. OptionError for an array with the name that is kept for the description.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Path(folder) / "w.npz", {"bias": np.ones(2)}, {"model": "test"})
    ...     arrays, about = load(Path(folder) / "w.npz")
    >>> arrays["bias"].tolist(), about
    ([1.0, 1.0], {'model': 'test'})
    """
    packed = {key: _array(value) for key, value in arrays.items()}
    if _ABOUT in packed:
        raise OptionError(f"an array may not be called {_ABOUT!r}", where=str(path))
    text = json.dumps(dict(about), sort_keys=True)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **packed, **{_ABOUT: np.frombuffer(text.encode(), dtype=np.uint8)})  # type: ignore[arg-type]
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(buffer.getvalue())
    os.replace(partial, path)


def load(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays and the description of a file; OptionError when it is missing or holds no weights."""
    try:
        data = read_bytes(path)
    except SourceError as error:
        message = "there are no weights here; train them with `gridloom train`, or name others"
        raise OptionError(error.message if exists(path) else message, where=str(path)) from None
    try:
        _refuse_bomb(data)
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        about = json.loads(arrays.pop(_ABOUT).tobytes().decode())
        if not isinstance(about, dict):
            raise ValueError(f"expected a description, found {type(about).__name__}")
    except _DAMAGE as error:
        raise OptionError(f"these are no weights of gridloom ({error})", where=str(path)) from None
    return arrays, about


def save_model(
    path: Path, name: str, arrays: Mapping[str, Any], about: Mapping[str, Any], *, features: Sequence[str]
) -> None:
    """Write arrays with the model that they belong to and the features that it sees."""
    save(path, arrays, {**about, "model": name, "features": list(features)})


def load_model(
    path: Path | None, name: str, *, features: Sequence[str] | None = None
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return arrays and description of a file, by default the shipped one of that name.

    OptionError for a file of another model, and for one whose features are not those given.
    """
    path = path or weights_path(name)
    arrays, about = load(path)
    if about.get("model") != name:
        raise OptionError(f"these are weights of {about.get('model')!r}, expected {name!r}", where=str(path))
    if features is not None and about.get("features") != list(features):
        model = name.removesuffix("-labels")
        raise OptionError(
            f"these weights are for other features; make new ones with `gridloom train {model}`", where=str(path)
        )
    return arrays, about


def _refuse_bomb(data: bytes) -> None:
    """Raise ValueError for an archive whose arrays unpack to more than ``MAX_UNPACKED`` bytes."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > MAX_UNPACKED:
        raise ValueError(f"they unpack to {size} bytes, at most {MAX_UNPACKED} are read")


def _array(value: Any) -> NDArray[Any]:
    """An array from an array or a tensor; a tensor is detached from its graph first."""
    return np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)


@dataclass(frozen=True, slots=True)
class TrainingScope:
    """The least and the largest value of each number, by a name in words such as ``rows`` or ``constants per row``."""

    ranges: Mapping[str, tuple[float, float]]

    @classmethod
    def of(cls, seen: Iterable[Mapping[str, float]], downwards: Collection[str] = ()) -> TrainingScope:
        """Return the scope of what was trained on; ``downwards`` are numbers of which less is never outside.

        >>> TrainingScope.of([{"rows": 4.0}, {"rows": 8.0}]).ranges
        {'rows': (4.0, 8.0)}
        """
        ranges: dict[str, tuple[float, float]] = {}
        for numbers in seen:
            for name, value in numbers.items():
                low, high = ranges.get(name, (value, value))
                ranges[name] = (min(low, value, 1.0) if name in downwards else min(low, value), max(high, value))
        return cls(ranges)

    def outside(self, asked: Mapping[str, float]) -> str:
        """Return in words what lies outside of the training; empty: nothing does. Unknown names are not compared.

        >>> TrainingScope({"rows": (4, 8)}).outside({"rows": 16, "columns": 3})
        'the weights were trained for 4 to 8 rows, found 16'
        >>> TrainingScope({"rows": (4, 8)}).outside({"rows": 5})
        ''
        """
        for name, value in asked.items():
            low, high = self.ranges.get(name, (value, value))
            # Values of 32 bits are compared with values of 64.
            slack = 1e-5 * max(1.0, abs(low), abs(high))
            if not low - slack <= value <= high + slack:
                known = f"{low:g}" if low == high else f"{low:g} to {high:g}"
                return f"the weights were trained for {known} {name}, found {value:g}"
        return ""

    def record(self) -> dict[str, list[float]]:
        """Return the scope as plain data."""
        return {name: [float(low), float(high)] for name, (low, high) in self.ranges.items()}

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> TrainingScope:
        """Return the scope of plain data."""
        return cls({name: (float(low), float(high)) for name, (low, high) in record.items()})
