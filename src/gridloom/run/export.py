"""A store as a table: one column for each parameter and each field of the results, for spreadsheets and data frames."""

from __future__ import annotations

import contextlib
import csv
import importlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gridloom.errors import MissingExtra
from gridloom.run.job import Json
from gridloom.run.store import Store, StoredRow

_FIXED_FIRST = ("key", "function", "version", "status")
_FIXED_LAST = ("error.type", "error.message", "seconds", "worker", "finished")


def export_csv(store: Store, path: str | os.PathLike[str]) -> int:
    """Write all rows to a CSV file, ordered by key, and return their number.

    Parameters become columns ``parameters.a.b``, fields of the result ``value.x``; lists stay JSON text, what a row
    does not have is empty. Reads the store twice in one snapshot, so memory does not grow with it and a run may go on
    meanwhile.
    """
    with store.snapshot() as rows, _renamed(path) as temporary:
        columns = _columns(rows())
        with temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns, restval="")
            writer.writeheader()
            count = 0
            for row in rows():
                writer.writerow({name: _text(cell) for name, cell in _cells(row).items()})
                count += 1
    return count


def export_parquet(store: Store, path: str | os.PathLike[str]) -> int:
    """Write all rows to a Parquet file with the columns of `export_csv` and return their number. Needs pyarrow.

    A column keeps its type where all its cells have one, and is JSON text where they differ. All rows are in memory.
    """
    try:
        pyarrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtra(
            f"writing Parquet needs pyarrow, which is not installed ({error}); pip install pyarrow, or export CSV",
            where=str(path),
        ) from error
    with store.snapshot() as rows, _renamed(path) as temporary:
        columns = _columns(rows())
        table = [_cells(row) for row in rows()]
        arrays = {name: _array(pyarrow, [cells.get(name) for cells in table]) for name in columns}
        parquet.write_table(pyarrow.table(arrays), temporary)
    return len(table)


def _columns(rows: Iterator[StoredRow]) -> list[str]:
    """All column names that occur, in a stable order.

    Identification comes first, then parameters and values by name, then the circumstances. This is the first of the
    two passes over the store.
    """
    names: set[str] = set()
    for row in rows:
        names.update(_cells(row))
    fixed = {*_FIXED_FIRST, *_FIXED_LAST}
    return [*_FIXED_FIRST, *sorted(names - fixed), *_FIXED_LAST]


def _cells(row: StoredRow) -> dict[str, Json]:
    """One row of the store as cells by column name.

    A failed job has no ``value`` columns, so that a table distinguishes an error from a result of ``null``.
    """
    asked = dict(row.asked)
    cells: dict[str, Json] = {
        "key": row.key,
        "function": asked.pop("function", None),
        "version": asked.pop("version", None),
        "status": row.status,
        "seconds": row.seconds,
        "worker": row.worker,
        "finished": row.finished,
    }
    if row.error is not None:
        cells |= {"error.type": row.error.type, "error.message": row.error.message}
    for name, value in asked.items():
        cells |= _flat(name, value)
    if row.status == "done":
        cells |= _flat("value", row.value)
    return cells


def _flat(name: str, value: Json) -> dict[str, Json]:
    """The leaves of nested objects under dotted names."""
    if isinstance(value, dict) and value:
        return {path: cell for key, item in value.items() for path, cell in _flat(f"{name}.{key}", item).items()}
    return {name: json.dumps(value) if isinstance(value, list | dict) else value}


def _text(cell: Json) -> str:
    """A cell as text; empty for none."""
    if cell is None:
        return ""
    return cell if isinstance(cell, str) else json.dumps(cell)


def _array(pyarrow: Any, cells: list[Json]) -> Any:
    """A column of Arrow's; JSON text where its cells differ in type.

    Arrow infers the type from the cells, so an empty column has type null.
    """
    try:
        return pyarrow.array(cells)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError):
        return pyarrow.array([None if cell is None else _text(cell) for cell in cells])


@contextlib.contextmanager
def _renamed(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its name when the block ends without an exception."""
    # The file appears under its name when it is whole, or not at all.
    target = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.absolute().parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
