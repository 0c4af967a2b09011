"""Searches for one array instead of a comparison of many: its FIFO map, or the smallest that runs several graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from gridloom.explore.buffers import Buffers, find_buffers
from gridloom.explore.merging import Merged, find_merged_array
from gridloom.explore.points import expand_kernels
from gridloom.explore.search import check_resumable, kept_open, open_store
from gridloom.explore.sharing import VariantMapper
from gridloom.explore.space import Space
from gridloom.run import ExecutorSpec, Store


def find_array(
    space: Space,
    *,
    folder: Path | None = None,
    named: Sequence[str] = (),
    executor: ExecutorSpec = ExecutorSpec(),
    store: Store | None = None,
    resume: bool = False,
    tell: Callable[[str], None] = lambda _text: None,
) -> Buffers | Merged:
    """Search for what ``space.find`` names and return it.

    With a store, a search that was killed and is resumed repeats the same steps from the stored rows and continues.
    """
    check_resumable(store, resume)
    sources = expand_kernels(space.kernels, folder, named)
    with open_store(store) as rows, kept_open(executor, space) as site:
        mapper = VariantMapper(space, sources, rows, site, tell)
        return find_buffers(space, mapper) if space.find == "buffers" else find_merged_array(space, mapper)
