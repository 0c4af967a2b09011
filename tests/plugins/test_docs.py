"""docs/extending.md shows the example's code and the registry's tables; docs/security.md says what is imported."""

from __future__ import annotations

import dataclasses
import re
import sys
import tomllib
from pathlib import Path

import pytest
from tests.plugins.hook_table import with_table
from tests.plugins.packages import GOOD, REPOSITORY, install, run_python

from gridloom.registry import HOOKS, Target

EXTENDING = (REPOSITORY / "docs" / "extending.md").read_text(encoding="utf-8")
SECURITY = (REPOSITORY / "docs" / "security.md").read_text(encoding="utf-8")
EXAMPLE = REPOSITORY / "examples" / "plugin"


def test_the_code_of_the_page_is_that_of_the_example() -> None:
    files = [path.read_text(encoding="utf-8") for path in [*EXAMPLE.rglob("*.py"), EXAMPLE / "pyproject.toml"]]
    blocks = re.findall(r"^```(?:python|toml)\n(.*?)^```", EXTENDING, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 8
    assert [block for block in blocks if not any(block.strip() in text for text in files)] == []


def test_the_page_lists_every_hook() -> None:
    assert with_table(EXTENDING) == EXTENDING, "python -m tests.plugins.hook_table writes the table anew"
    assert all(f"| `{name}` |" in EXTENDING for name in HOOKS)


def test_the_page_explains_every_field_of_the_record() -> None:
    table = EXTENDING.partition("| field | what it holds |")[2].partition("\n\n")[0]
    fields = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (.*?) \|", table, flags=re.MULTILINE)))
    assert fields == [field.name for field in dataclasses.fields(Target)]


def test_the_page_shows_a_use_of_every_field_that_the_example_has() -> None:
    sys.path.insert(0, str(EXAMPLE / "src"))
    try:
        from gridloom_example.target import TARGET
    finally:
        sys.path.remove(str(EXAMPLE / "src"))
    names = [name for field in dataclasses.fields(Target) if isinstance(value := getattr(TARGET, field.name), dict)
             for name in value]  # fmt: skip
    readme = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    assert names and all(f"`{name}`" in readme for name in names)


def test_the_entry_point_of_the_example_names_its_record() -> None:
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"] == {"gridloom.plugins": {"example": "gridloom_example.target:TARGET"}}


# -- docs/security.md -------------------------------------------------------------------------------------------------

#: The record and what it names stand in modules of their own, which say when they are imported.
PARTS = (
    GOOD.replace('"good_plugin:', '"parts_plugin:')
    .replace("parts_plugin:card", "hook_plugin:card")
    .replace('"rings": "hook', '"grid": "hook')
)
NOTED = "import sys\nsys.stderr.write(__name__ + ' is imported\\n')\n"

#: Words of a command -> what it imports of the plug-in, by the rows of the table.
IMPORTS = {
    "--help": set(),
    "map --help": set(),
    "--version": set(),
    "list kernels": {"good_plugin"},
    "map kernel:vector_add --arch mesh:2x2 --effort 300": {"good_plugin"},
    "map kernel:vector_add --arch mesh:2x2 --effort 300 --mapper delegate": {"good_plugin", "parts_plugin"},
    "map kernel:vector_add --arch mesh:2x2 --effort 300 --html {}/r.html": {"good_plugin", "hook_plugin"},
    "map kernel:vector_add --arch torus:2x2 --effort 300 --html {}/r.html": {"good_plugin"},
    "--no-plugins map kernel:vector_add --arch mesh:2x2 --effort 300 --html {}/r.html": set(),
}


@pytest.mark.parametrize(("words", "imported"), IMPORTS.items(), ids=IMPORTS)
def test_a_plugin_is_imported_when_the_page_says(tmp_path: Path, words: str, imported: set[str]) -> None:
    parts = NOTED + GOOD.partition("hooks={")[2].partition(")\n\n\n")[2]
    install(tmp_path, "good-package", {"good": "good_plugin:TARGET"}, good_plugin=PARTS, parts_plugin=parts,
            hook_plugin=NOTED + "def card(result):\n    return ''\n")  # fmt: skip
    done = run_python(tmp_path, "-m", "gridloom", *words.format(tmp_path).split())
    assert done.returncode == 0, done.stderr
    assert set(re.findall(r"^(\w+) is imported$", done.stderr, flags=re.MULTILINE)) == imported


def test_the_page_has_a_row_for_each_of_these_cases() -> None:
    section = SECURITY.partition("## Plug-ins")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.*?) \| (.*) \|$", section, flags=re.MULTILINE)[2:]
    assert [what for what, _ in rows] == [
        "the module that holds its record is imported",
        "the module of a mapper, family, reader, kernel, model or command is imported",
        "the module of a hook is imported",
        "no plug-in is imported",
    ]
    assert "--no-plugins" in section and "GRIDLOOM_PLUGINS=off" in section
