"""Weights as plain arrays: a round trip, no pickles, clear words about a wrong file."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from gridloom.errors import OptionError
from gridloom.learn import weights


def test_round_trip_keeps_arrays_and_description(tmp_path: Path) -> None:
    arrays = {"layer.weight": np.arange(6, dtype=np.float32).reshape(2, 3), "layer.bias": np.zeros(2, dtype=np.int8)}
    path = tmp_path / "model.npz"
    weights.save(path, arrays, {"data": "abc", "metrics": {"accuracy": 0.5}})
    back, about = weights.load(path)
    assert about == {"data": "abc", "metrics": {"accuracy": 0.5}}
    assert sorted(back) == sorted(arrays)
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        assert np.array_equal(back[name], array)
    assert [file.name for file in tmp_path.iterdir()] == ["model.npz"]


def test_tensors_are_taken(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(2, 3)
    weights.save(tmp_path / "a.npz", layer.state_dict(), {})
    back, _ = weights.load(tmp_path / "a.npz")
    assert np.array_equal(back["weight"], layer.weight.detach().numpy())


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "none.npz"
    with pytest.raises(OptionError) as caught:
        weights.load(path)
    assert str(caught.value) == f"{path}: there are no weights here; train them with `gridloom train`, or name others"


@pytest.mark.parametrize("content", [b"", b"text", pickle.dumps({"weight": [1.0]})])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.npz"
    path.write_bytes(content)
    with pytest.raises(OptionError, match="these are no weights of gridloom"):
        weights.load(path)


def test_arrays_of_objects_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    np.savez(path, weight=np.array([{"a": 1}], dtype=object))
    with pytest.raises(OptionError, match="these are no weights of gridloom"):
        weights.load(path)


def test_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.npz"
    weights.save(path, {"weight": np.zeros(100_000)}, {})
    monkeypatch.setattr(weights, "MAX_UNPACKED", 500_000)
    with pytest.raises(OptionError, match=r"they unpack to 8\d{5} bytes, at most 500000 are read"):
        weights.load(path)
