"""Checkpoints: a piece is made once, not taken for another, and not kept when it was cut short."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gridloom.learn.checkpoints import Checkpoints


class Maker:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def plain(self) -> list[int | None]:
        self.calls += 1
        return [self.calls, None]

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        self.calls += 1
        return {"a.weight": np.arange(6, dtype=np.float32).reshape(2, 3) / 7}


def test_a_finished_piece_is_not_made_again(tmp_path: Path) -> None:
    kept, maker = Checkpoints(folder=tmp_path, about={"data": "1"}), Maker()
    assert kept.plain("said", maker.plain) == kept.plain("said", maker.plain) == [1, None]
    first = kept.arrays("own", maker.arrays)
    again = kept.arrays("own", maker.arrays)
    assert maker.calls == 2
    np.testing.assert_array_equal(first["a.weight"], again["a.weight"])
    assert again["a.weight"].dtype == np.float32


@pytest.mark.parametrize("other", [{"data": "2"}, {"data": "1", "held": 0}])
def test_other_data_or_settings_are_another_piece(tmp_path: Path, other: dict[str, object]) -> None:
    maker = Maker()
    Checkpoints(folder=tmp_path, about={"data": "1"}).plain("said", maker.plain)
    assert Checkpoints(folder=tmp_path, about=other).plain("said", maker.plain) == [2, None]
    assert Checkpoints(folder=tmp_path, about={"data": "1"}).of(held=3).plain("said", maker.plain) == [3, None]


def test_without_resume_all_is_made_anew_and_without_a_folder_nothing_is_kept(tmp_path: Path) -> None:
    maker = Maker()
    Checkpoints(folder=tmp_path).plain("said", maker.plain)
    assert Checkpoints(folder=tmp_path, resume=False).plain("said", maker.plain) == [2, None]
    assert Checkpoints(folder=tmp_path).plain("said", maker.plain) == [2, None]
    assert Checkpoints().plain("said", maker.plain) == [3, None]


def test_what_was_cut_short_is_not_kept(tmp_path: Path) -> None:
    maker = Maker()
    stopped = Checkpoints(folder=tmp_path, over=lambda: True)
    stopped.plain("said", maker.plain)
    assert Checkpoints(folder=tmp_path).plain("said", maker.plain) == [2, None]
    assert not list(tmp_path.rglob("part-*"))
