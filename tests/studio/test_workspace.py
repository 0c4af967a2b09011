"""The working folder: nothing outside of it is read or written, whatever a page names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gridloom.errors import GridloomError, OptionError
from gridloom.studio.workspace import MOST_TEXT, Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    folder, scratch = tmp_path / "work", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    (tmp_path / "secret.c").write_text("int secret;", encoding="utf-8")
    (folder / "loop.c").write_text("int x;", encoding="utf-8")
    return Workspace(folder, scratch)


@pytest.mark.parametrize(
    "name",
    ["../secret.c", "/etc/passwd", "a/../../secret.c", "./../secret.c", "..", ".", "", "x\0.c", "work/../../secret.c"],
)
def test_names_that_lead_outside_are_refused(workspace: Workspace, name: str) -> None:
    actions = (
        workspace.read,
        lambda text: workspace.write(text, "x"),
        lambda text: workspace.source(text, may_run=True),
    )
    for action in actions:
        with pytest.raises(GridloomError):
            action(name)


def test_a_link_that_leads_outside_is_refused(workspace: Workspace) -> None:
    (workspace.folder / "inside.c").symlink_to(workspace.folder.parent / "secret.c")
    (workspace.folder / "folder").symlink_to(workspace.folder.parent)
    for name in ("inside.c", "folder/secret.c"):
        with pytest.raises(OptionError, match="outside of the working folder"):
            workspace.read(name)
    assert [row["name"] for row in workspace.files()] == ["loop.c"]


def test_pipes_folders_and_huge_files_are_not_read(workspace: Workspace) -> None:
    os.mkfifo(workspace.folder / "pipe.c")
    (workspace.folder / "folder.c").mkdir()
    (workspace.folder / "huge.c").write_bytes(b"x" * (MOST_TEXT + 1))
    for name in ("pipe.c", "folder.c", "huge.c"):
        with pytest.raises(GridloomError):
            workspace.read(name)


def test_only_files_of_the_studios_kinds_are_written(workspace: Workspace) -> None:
    with pytest.raises(OptionError, match=r"the studio writes \.c"):
        workspace.write("run.sh", "rm -rf /")
    assert workspace.write("new.c", "int y;") == "new.c"
    assert (workspace.folder / "new.c").read_text(encoding="utf-8") == "int y;"


def test_python_is_refused_until_it_may_run(workspace: Workspace) -> None:
    (workspace.folder / "kernel.py").write_text("", encoding="utf-8")
    with pytest.raises(OptionError, match="executes the file; say so first"):
        workspace.source("kernel.py:scale", may_run=False)
    assert workspace.source("kernel.py:scale", may_run=True).text.endswith("kernel.py:scale")


def test_a_text_that_is_not_saved_is_kept_apart(workspace: Workspace) -> None:
    assert workspace.keep("loop.c", "int x;") == str(workspace.folder / "loop.c")
    changed = Path(workspace.keep("loop.c", "int z;"))
    assert changed.parent == workspace.scratch
    assert (workspace.folder / "loop.c").read_text(encoding="utf-8") == "int x;"


def test_arrays_are_families_or_files_of_the_folder(workspace: Workspace) -> None:
    assert workspace.array("torus:4x4") == "torus:4x4"
    for name in ("/etc/array.yaml", "../array.yaml", "mesh:/../../x.yaml"):
        with pytest.raises(OptionError):
            workspace.array(name)
