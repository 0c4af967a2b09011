"""Commands in the documents are not stale: their options, kernels, arrays and settings exist."""

from __future__ import annotations

import dataclasses
import itertools
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from gridloom import registry
from gridloom.archs import build
from gridloom.compiler.kernels import from_spec

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = sorted([REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *(REPOSITORY / "docs").rglob("*.md")])
#: An indented or fenced line that calls gridloom, perhaps behind a prompt or an environment variable.
LINE = re.compile(r"^ *(?:\$ )?(?:[A-Z_]+=\S+ )?(?:\.venv/bin/)?gridloom (?!-)(.*)$", flags=re.MULTILINE)

#: Files that a page writes before its commands use them.
WRITTEN = {name for page in PAGES for name in re.findall(r"<!-- file: (\S+) -->", page.read_text(encoding="utf-8"))}


def commands() -> list[str]:
    """The arguments of every command in the documents, without comments, redirections and line joins."""
    found = set()
    for page in PAGES:
        text = re.sub(r"\\\n\s+", " ", page.read_text(encoding="utf-8"))
        blocks = re.findall(r"^(?: {4,}\S.*\n)+|^```.*?^```", text, flags=re.MULTILINE | re.DOTALL)
        for rest in LINE.findall("\n".join(blocks)):
            plain = re.split(r"  +#| > |  +gridloom ", rest)[0]
            found |= {plain.strip()} if "..." not in plain and "$(" not in plain else set()
    return sorted(found)


CALLS = [shlex.split(rest) for rest in commands()]


def test_there_are_commands_to_check() -> None:
    assert len(CALLS) > 60


@cache
def options(command: str) -> frozenset[str]:
    """The options of a command, as its parser knows them."""
    import typer

    from gridloom.cli.app import app

    group = typer.main.get_command(app)
    parameters = group.commands[command].params  # type: ignore[attr-defined]
    return frozenset(name for parameter in parameters for name in (*parameter.opts, *parameter.secondary_opts))


@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_options_of_a_command_exist(words: list[str]) -> None:
    if words[0].startswith("-"):
        return
    used = {word.partition("=")[0] for word in words[1:] if re.match(r"--?[a-z]", word)}
    assert used - options(words[0]) - {"--help"} == set()


@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_kernels_and_arrays_of_a_command_exist(words: list[str]) -> None:
    for word in words:
        if word.startswith("kernel:") and word != "kernel:NAME":
            from_spec(word.removeprefix("kernel:"))
    arrays = [word for flag, word in itertools.pairwise(words) if flag == "--arch"]
    for array in arrays:
        if array != "ARCH" and array not in WRITTEN:
            build(array)


@pytest.mark.parametrize("words", [words for words in CALLS if "--mapper" in words], ids=" ".join)
def test_settings_of_a_named_mapper_exist(words: list[str]) -> None:
    from gridloom.search.choice import config_type

    pairs = list(itertools.pairwise(words))
    named = [name for flag, names in pairs if flag == "--mapper" for name in names.split(",")]
    for name in named:
        if name not in registry.names("mappers"):
            continue
        entry = registry.entry("mappers", name)
        fields = {f.name for kind in entry.takes for f in dataclasses.fields(config_type(entry.load(kind)))}
        for flag, setting in pairs:
            assert flag != "--set" or setting.partition("=")[0] in fields, setting


@pytest.mark.parametrize("name", registry.names("mappers"))
def test_a_page_with_the_mapper_in_its_title_documents_every_setting(name: str) -> None:
    from gridloom.search.choice import config_type

    texts = [page.read_text(encoding="utf-8") for page in (REPOSITORY / "docs" / "algorithms").glob("*.md")]
    pages = "".join(text for text in texts if f"`{name}`" in text.splitlines()[0])
    assert pages, f"no page of docs/algorithms has `{name}` in its title"
    entry = registry.entry("mappers", name)
    fields = {f.name for kind in entry.takes for f in dataclasses.fields(config_type(entry.load(kind)))}
    with_options_of_their_own = {"ii", "prove", "pin", "init", "place"}
    missing = {field for field in fields if not re.search(rf"`{field}[`=]", pages)} - with_options_of_their_own
    assert sorted(missing) == []
