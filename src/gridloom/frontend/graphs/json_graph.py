"""Reads our own JSON graphs, see :mod:`gridloom.dfg.json_format`."""

from __future__ import annotations

from pathlib import Path

from gridloom.dfg import Dfg, json_format
from gridloom.text_file import read_text


def read(path: Path) -> Dfg:
    """The graph of a JSON file."""
    return json_format.loads(read_text(path), str(path))
