"""What every reader of graphs promises: the battery that reads one file of a format, and damaged copies of it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from gridloom.compiler.source import read_graph
from gridloom.dfg import json_format
from gridloom.dfg.checks import check
from gridloom.dfg.model import Dfg
from gridloom.errors import GridloomError
from gridloom.testing.promises import require

#: Where a damaged copy ends, as a share of the file.
_CUTS = (0.1, 0.5, 0.9)
#: Files beside the one that is read are copied with it, if they are no larger.
_COMPANION_BYTES = 1_000_000

Reader = Callable[[Path], Dfg]


def check_reader(
    path: Path | str, *, reader: Reader | None = None, nodes: int | None = None, edges: int | None = None
) -> None:
    """Check that the reader of a file keeps every promise; AssertionError with the first that it breaks.

    The reader is that of the file's ending, or the function given. The graph checks, is the same when the file is read
    again and when it is saved and loaded, and has as many ``nodes`` and ``edges`` as the caller says. An empty file is
    a GridloomError, and so is every other damage that is noticed: no other exception leaves a reader.
    """
    path, read = Path(path), reader or read_graph
    graph = _read(read, path)
    for what, found, expected in (("nodes", len(graph.nodes), nodes), ("edges", len(graph.edges), edges)):
        require(expected is None or found == expected, f"{path.name} is read with {found} {what}; expected {expected}")
    check(graph)
    text = json_format.dumps(graph)
    require(json_format.dumps(_read(read, path)) == text, f"{path.name} gives another graph when it is read again")
    loaded = json_format.loads(text)
    require(json_format.dumps(loaded) == text, f"the graph of {path.name} is another one after saving and loading")
    with tempfile.TemporaryDirectory() as folder:
        copy = _copy(path, Path(folder))
        copy.write_bytes(b"")
        require(_damaged(read, copy) is not None, f"an empty {path.name} is read as a graph")
        whole = path.read_bytes()
        for cut in _CUTS:
            copy.write_bytes(whole[: int(len(whole) * cut)])
            _damaged(read, copy)


def _read(read: Reader, path: Path) -> Dfg:
    try:
        return read(path)
    except GridloomError as error:
        raise AssertionError(f"{path.name} is refused: {error}") from error


def _copy(path: Path, folder: Path) -> Path:
    """Copy a file with those beside it, which formats of several files need."""
    for beside in path.parent.iterdir():
        if beside.is_file() and (beside == path or beside.stat().st_size <= _COMPANION_BYTES):
            shutil.copy(beside, folder / beside.name)
    return folder / path.name


def _damaged(read: Reader, path: Path) -> GridloomError | None:
    """What a reader says to a damaged file; None where it reads a graph, which has to be sound."""
    try:
        check(read(path))
    except GridloomError as error:
        return error
    except Exception as error:
        size = path.stat().st_size
        sentence = f"{path.name}, cut to {size} bytes, raises {type(error).__name__}: {error}; expected a GridloomError"
        raise AssertionError(sentence) from error
    return None
