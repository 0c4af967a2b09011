"""What everybody expects of a command line: help, ``-h``, ``--quiet``, completion, and options that read alike."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from gridloom import registry
from gridloom.cli.app import COMMANDS, TASKS, app

REPOSITORY = Path(__file__).resolve().parents[2]
NAMES = [name for name, _ in COMMANDS]


@pytest.fixture(autouse=True)
def _a_terminal_of_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def completed(words: str, shell: str = "zsh") -> str:
    """What a shell is offered for the last word."""
    settings = {"_GRIDLOOM_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": words}
    if shell == "bash":
        settings |= {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    command = [sys.executable, "-m", "gridloom"]
    return subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=False).stdout


def test_bare_command_prints_help_and_ends_well(gridloom):
    done = gridloom()
    assert (done.status, done.err) == (0, "")
    assert done.out == gridloom("--help").out
    assert done.out.startswith("Usage: gridloom [OPTIONS] COMMAND [ARGS]...\n")


@pytest.mark.parametrize("name", NAMES)
def test_short_help_option_is_the_long_one(gridloom, name):
    assert gridloom(name, "-h").out == gridloom(name, "--help").out != ""


def test_overview_has_a_whole_sentence_on_one_line_for_every_command(gridloom):
    lines = gridloom("-h").out.splitlines()
    for name, command in COMMANDS:
        (line,) = [line for line in lines if line.startswith(f"  {name} ")]
        assert line.endswith(f"  {command.summary}") and command.summary.endswith(".")


def test_overview_groups_the_commands_by_task(gridloom):
    lines = gridloom("-h").out.partition("Show this message and exit.")[2].splitlines()
    assert [line for line in lines if re.match(r"[A-Z].*:$", line)] == [f"{task}:" for task in TASKS]


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=NAMES)
def test_help_ends_with_an_example_that_the_command_takes(gridloom, monkeypatch, name, command):
    monkeypatch.chdir(REPOSITORY)
    example = f"gridloom {name} {command.example}".rstrip()
    assert gridloom(name, "-h").out.rstrip().splitlines()[-2:] == ["  Example:", f"    {example}"]
    taken = typer.main.get_command(app).get_command(None, name).make_context(name, shlex.split(command.example))
    assert taken.params
    files = [word for word in shlex.split(command.example) if word.startswith("examples/")]
    assert [word for word in files if not Path(word).is_file()] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_explained_and_nothing_is_cut(gridloom, name):
    text = gridloom(name, "-h").out
    assert "…" not in text and not re.search(r"\w\.\.\.(\s|$)", text)
    assert not re.search(r"<(str|int|float|path|list)[^>]*>", text.split("Options:")[1])
    options = re.split(r"\n  (?=-)", text.split("Options:")[1])[1:]
    assert [option for option in options if not re.search(r"  \S.*\.", option, re.DOTALL)] == []


@pytest.mark.parametrize("name", NAMES)
def test_functions_of_commands_take_their_options_by_name(name):
    kinds = {parameter.kind for parameter in inspect.signature(dict(COMMANDS)[name].load()).parameters.values()}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}


def test_option_of_several_commands_is_declared_once():
    """The same words mean the same type: an option that is shared is one alias, not a copy of it."""
    seen: dict[str, set[int]] = {}
    for _, command in COMMANDS:
        for parameter in inspect.signature(command.load(), eval_str=True).parameters.values():
            for option in getattr(parameter.annotation, "__metadata__", ()):
                words = (getattr(option, "param_decls", None), option.help)
                seen.setdefault(str(words), set()).add(id(option))
    assert [words for words, places in seen.items() if len(places) > 1] == []


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("option", ["-q", "--quiet"])
def test_quiet_leaves_the_result_and_drops_the_notes(gridloom, where, option):
    words = ["map", "kernel:vector_add", "--arch", "mesh:2x2", "--effort", "20000", "-o", "m.json"]
    loud = gridloom(*words)
    done = gridloom(option, *words) if where == "before" else gridloom(*words, option)
    assert (loud.err, done.err) == ("wrote m.json\n", "")
    assert (done.status, done.out.splitlines()[1:]) == (0, loud.out.splitlines()[1:])


def test_quiet_ends_with_its_command(gridloom):
    words = ["show", "mesh:2x2", "--svg", "a.svg"]
    assert gridloom(*words, "--quiet").err == ""
    assert gridloom(*words).err == "wrote a.svg\n"


def test_quiet_does_not_hide_errors(gridloom):
    done = gridloom("map", "kernel:fir", "--arch", "mash:2x2", "-q")
    assert (done.status, done.err) == (2, "error: array 'mash:2x2': no arch is called 'mash'; did you mean mesh?\n")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("gridloom map kernel:fir --mapper ann", ["anneal"]),
        ("gridloom map kernel:fir --arch tor", ["torus"]),
        ("gridloom map kernel:fi", ["kernel\\\\:fir"]),
        ("gridloom bench smo", ["smoke"]),
        ("gridloom train mapp", ["mappability"]),
        ("gridloom list ma", ["mappers"]),
        ("gridloom parti", ["partition"]),
    ],
)
def test_names_are_completed_from_the_registry(words, offered):
    assert re.findall(r'"([^"]+)":"', completed(words)) == offered or f'"{offered[0]}"' in completed(words)


def test_bash_is_offered_every_mapper():
    assert completed("gridloom map --mapper ", "bash").split() == ["auto", *registry.names("mappers")]


@pytest.mark.parametrize("typed", ["kernel : vector_", "kernel :"])
def test_bash_takes_sources_apart_at_the_colon_and_is_offered_the_rest(typed):
    offered = completed(f"gridloom map {typed}", "bash").split()
    assert "vector_add" in offered and not any(":" in name for name in offered)


def test_source_that_may_be_a_file_is_left_to_the_shell():
    assert completed("gridloom map ./lo", "bash").strip() == ""


def test_completion_script_can_be_shown():
    done = subprocess.run(
        [sys.executable, "-m", "gridloom", "--show-completion", "bash"],
        env=os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert "_GRIDLOOM_COMPLETE=complete_bash" in done.stdout
