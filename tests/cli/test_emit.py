"""``gridloom emit``."""

from __future__ import annotations

import json

import pytest


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    from tests import hand_mappings
    from tests.targets.modulo.export.openedge.test_programs import long_mapping

    import gridloom as gl
    from gridloom.mapping.json_format import dumps

    folder = tmp_path_factory.mktemp("saved")
    good = gl.map("kernel:vector_add", "openedge-cgra", effort=20_000, seed=0).mapping
    (folder / "good.json").write_text(dumps(good))
    (folder / "long.json").write_text(dumps(long_mapping()))
    (folder / "bad.json").write_text(dumps(hand_mappings.mesh_unbalanced()))
    (folder / "mesh.json").write_text(dumps(hand_mappings.mesh_fifo_2()))
    return folder


def test_a_mapping_is_written_as_a_program(gridloom, saved, tmp_path):
    done = gridloom("emit", "openedge", saved / "good.json", "-o", tmp_path / "out", "--json")
    assert done.status == 0
    record = json.loads(done.out)
    assert {key: record[key] for key in ("status", "name", "ii", "loads_beyond")} == {
        "status": "written", "name": "vector_add", "ii": 1, "loads_beyond": 0,
    }  # fmt: skip
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == record["files"]
    told = gridloom("emit", "openedge", saved / "good.json", "-o", tmp_path / "out")
    assert told.out.startswith(f"vector_add for openedge in {tmp_path / 'out'}: ii 1, instructions ")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("long", "the program has "),
        ("bad", "not legal: "),
        ("mesh", "array 'mesh:2x3' does not run the instructions of OpenEdgeCGRA"),
    ],
)
def test_a_mapping_without_a_program_is_refused_with_its_reason(gridloom, saved, tmp_path, name, reason):
    done = gridloom("emit", "openedge", saved / f"{name}.json", "-o", tmp_path / "out")
    assert done.status == 1
    assert done.out.startswith(reason)
    told = gridloom("emit", "openedge", saved / f"{name}.json", "-o", tmp_path / "out", "--json")
    assert json.loads(told.out)["status"] == "refused"
    assert not (tmp_path / "out").exists()


def test_an_unknown_format_is_refused(gridloom, saved, tmp_path):
    done = gridloom("emit", "openedg", saved / "good.json", "-o", tmp_path / "out")
    assert done.status == 2
    assert done.err == "error: FORMAT: there is no format 'openedg'; known: openedge\n"
