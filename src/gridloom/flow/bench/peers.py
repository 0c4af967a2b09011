"""What other tools gave for the same cells: ``peer_results.csv`` next to published graphs, read beside our rows.

Such a file has a column that names the graph (``loop``, ``graph`` or ``kernel``), ``mapper``, ``II`` and ``status``,
and ``array`` (rows x columns) where it is about several; without one it is about a 4x4 array. Other tables are left
alone.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from gridloom.errors import OptionError
from gridloom.text_file import is_file, read_text

_NAMES: Final = ("loop", "graph", "kernel")
_DEFAULT_ARRAY: Final = "4x4"
_LIMIT: Final = 10_000_000


def with_peers(rows: Sequence[Mapping[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """Return the rows, each with ``peers``: mapper -> its II, or its status where it has none."""
    return [{**row, "peers": peers_of(str(row["cell"]["source"]), _size(row), folder)} for row in rows]


def peers_of(source: str, array: str, folder: Path) -> dict[str, int | str]:
    """Return what other tools gave for a source below the folder on an array of a size ("4x4").

    A record belongs to the source when its name is the source's, with all its folders or without the first of them.
    """
    found: dict[str, int | str] = {}
    folders = source.split("/")
    names = {_plain("/".join(folders[k:])) for k in range(len(folders))}
    for record in _table(folder / source.partition("/")[0] / "peer_results.csv"):
        theirs = _plain(next(record[key] for key in _NAMES if key in record))
        if record.get("array", _DEFAULT_ARRAY) != array or theirs not in names:
            continue
        found[record["mapper"]] = int(record["II"]) if record["II"].isdigit() else record["status"]
    return found


def _size(row: Mapping[str, Any]) -> str:
    """Return the size of a row's array as the tables of peers write it, ``4x4``."""
    arch = row.get("arch") or {}
    return f"{arch.get('rows')}x{arch.get('cols')}"


def _plain(name: str) -> str:
    """Return a graph's name without endings that only tell what a file holds, and with _ for every boundary.

    >>> _plain("morpher/fir_nodes.txt")
    'morpher_fir'
    """
    stem = re.sub(r"(_nodes?)?(\.(txt|xml|dot|csv))?$", "", name)
    return stem.replace("/", "_")


@cache
def _table(path: Path) -> tuple[dict[str, str], ...]:
    """Return the rows of a table of peers; nothing for a table of another kind."""
    if not is_file(path) or path.stat().st_size > _LIMIT:
        return ()
    reader = csv.DictReader(io.StringIO(read_text(path, limit=_LIMIT), newline=""))
    try:
        columns = set(reader.fieldnames or ())
        if not {"mapper", "II", "status"} <= columns or not columns & set(_NAMES):
            return ()
        return tuple({key: value or "" for key, value in row.items() if key is not None} for row in reader)
    except csv.Error as error:
        raise OptionError(f"is no table: {error}", where=f"{path}:{reader.line_num}") from None
