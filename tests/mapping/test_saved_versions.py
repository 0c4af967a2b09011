"""Mappings that earlier versions saved: each is read, is legal, and computes what its graph computes.

`saved/VERSION-ARRAY.json` was written by that version. A change of the format or of an array family that loses one of
them needs a migration (docs/reference/stability.md). The arrays of 0.1.0 have other resource graphs than today's; its
mappings are refused in words.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import gridloom as gl
from gridloom.errors import MappingError
from gridloom.mapping import json_format

FOLDER = Path(__file__).parent / "saved"
REFUSED = sorted(FOLDER.glob("0.1.0-*.json"))
SAVED = sorted(set(FOLDER.glob("*.json")) - set(REFUSED))


@pytest.mark.parametrize("version", ["0.2.0", "0.3.0"])
def test_there_are_mappings_of_every_kind_of_array(version: str) -> None:
    found = {path.stem.partition("-")[2] for path in FOLDER.glob(f"{version}-*.json")}
    assert found == {"mesh", "torus", "rows", "streaming", "dataflow"}


@pytest.mark.parametrize("path", REFUSED, ids=lambda path: path.stem)
def test_a_mapping_onto_an_array_that_changed_is_refused_in_words(path: Path) -> None:
    words = r"arch: this gridloom builds another array from the same description \(.*\); map again$"
    with pytest.raises(MappingError, match=words):
        gl.load_mapping(path)


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_a_saved_mapping_is_read_and_judged(path: Path) -> None:
    mapping = gl.load_mapping(path)
    assert gl.check(mapping) == []
    assert gl.simulate(mapping, iterations=8).ok


@pytest.mark.parametrize("path", SAVED[:1], ids=lambda path: path.stem)
def test_a_file_of_an_older_format_goes_through_its_migration(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    older = {**{key: value for key, value in data.items() if key != "ii"}, "version": 0, "interval": data["ii"]}
    with pytest.raises(MappingError, match="version 0 is not known"):
        json_format.from_dict(older)

    def rename_interval(found: dict[str, Any]) -> dict[str, Any]:
        return {
            **{key: value for key, value in found.items() if key != "interval"},
            "version": 1,
            "ii": found["interval"],
        }

    monkeypatch.setitem(json_format.MIGRATIONS, 0, rename_interval)
    assert json_format.from_dict(older).ii == data["ii"]
