"""When plug-ins are loaded, what they add, how they are listed and how they are switched off."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.plugins.packages import GOOD, install, run_python

import gridloom as gl
from gridloom import plugins, registry
from gridloom.flow.inputs import prepare
from gridloom.search.choice import default_mapper


def is_imported() -> bool:
    return "good_plugin" in sys.modules


@pytest.mark.parametrize("words", [["--help"], ["map", "--help"], ["--version"]], ids=" ".join)
def test_help_imports_no_plugin(tmp_path: Path, words: list[str]) -> None:
    install(tmp_path, "good-package", {"good": "good_plugin:TARGET"}, good_plugin=GOOD)
    done = run_python(tmp_path, "-m", "gridloom", *words)
    assert done.returncode == 0
    assert "good_plugin is imported" not in done.stderr


def test_the_list_imports_them(tmp_path: Path) -> None:
    """The planted fault of the test above: an import would be seen."""
    install(tmp_path, "good-package", {"good": "good_plugin:TARGET"}, good_plugin=GOOD)
    assert "good_plugin is imported" in run_python(tmp_path, "-m", "gridloom", "list", "mappers").stderr


def test_built_in_names_import_no_plugin(good: Path) -> None:
    assert registry.entry("mappers", "anneal") and registry.load("kernels", "fir") and registry.has("archs", "mesh")
    assert registry.reader_for("x.json") == "json" and registry.command("vpr") is not None
    assert default_mapper(gl.arch("mesh:2x2")) == "anneal"
    assert not is_imported()


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda: registry.names("costs"), id="a listing"),
        pytest.param(lambda: registry.entry("mappers", "delegate"), id="a name"),
        pytest.param(lambda: registry.reader_for("x.chain"), id="an ending"),
        pytest.param(lambda: registry.hook("exports", "good"), id="a hook"),
        pytest.param(lambda: registry.has_trait("rings"), id="a trait"),
        pytest.param(lambda: registry.command("greet"), id="a command"),
        pytest.param(lambda: registry.kinds(), id="the kinds"),
        pytest.param(lambda: list(registry.hooks_for("report_cards", gl.arch("mesh:2x2"))), id="the hooks of an array"),
    ],
)
def test_what_may_be_a_plugins_loads_them(good: Path, ask) -> None:
    assert not is_imported()
    ask()
    assert is_imported()


def test_the_hooks_of_a_plugin_are_used(site: Path) -> None:
    text = GOOD.replace('"report_cards": {"rings"', '"report_cards": {"grid"').replace('return ""', 'return "A CARD"')
    install(site, "good-package", {"good": "good_plugin:TARGET"}, good_plugin=text)
    result = gl.map("kernel:vector_add", "mesh:2x2", effort=500)
    gl.save(result, site / "page.html")
    assert "A CARD" in (site / "page.html").read_text(encoding="utf-8")
    assert registry.hook("exports", "good")(None) == "exported"


def test_everything_that_a_plugin_adds_can_be_used(good: Path, gridloom) -> None:
    (good / "three.chain").write_text("a b c")
    done = gridloom(
        "map", good / "three.chain", "--arch", "square:3", "--mapper", "delegate", "--effort", 500, "--json"
    )
    assert done.status == 0, done.err
    assert (done.record["mapper"], done.record["dfg"]["name"], done.record["arch"]["name"]) == (
        "delegate", "three", "mesh:3x3",
    )  # fmt: skip
    assert gridloom("show", "square:2").status == 0
    assert gl.load("kernel:twice,times=2").name == "twice"
    assert prepare("kernel:twice", "square:2").dfg.name == "twice"
    assert gl.map("kernel:twice", "mesh:2x2", mapper="delegate", effort=500).mapping.provenance["mapper"] == "anneal"


def test_a_command_of_a_plugin_runs_and_has_a_help(good: Path, gridloom) -> None:
    assert gridloom("greet", "--name", "Ada").out == "hello Ada\n"
    assert "Greet someone." in gridloom("greet", "--help").out
    assert "greet" not in gridloom("--help").out


def test_an_unknown_command_is_refused_after_plugins_were_asked(good: Path, gridloom) -> None:
    done = gridloom("gret")
    assert done.status == 2 and done.err.endswith("error: No such command 'gret'; see gridloom --help\n")
    assert is_imported()


def test_plugins_are_listed(good: Path, gridloom) -> None:
    lines = gridloom("list", "plugins").out.splitlines()
    assert lines[0] == "good  good-package 1.0  loaded"
    assert "  mappers   delegate" in lines and "  hooks     report_cards:rings, exports:good" in lines
    (row,) = gridloom("list", "plugins", "--json").record["plugins"]
    assert {key: row[key] for key in ("name", "package", "version", "state", "reason")} == {
        "name": "good", "package": "good-package", "version": "1.0", "state": "loaded", "reason": None,
    }  # fmt: skip
    assert row["adds"]["readers"] == ["lines"] and row["adds"]["traits"] == ["rings"]
    assert "plugins   other packages that add to these lists (1 names)" in gridloom("list").out
    assert gl.names("plugins") == {"good": "loaded"}


def test_without_plugins_the_list_says_so(site: Path, gridloom) -> None:
    assert gridloom("list", "plugins").out == "no plug-ins\n"


def test_names_of_plugins_are_completed(good: Path) -> None:
    variables = {"_GRIDLOOM_COMPLETE": "complete_bash", "COMP_WORDS": "gridloom gre", "COMP_CWORD": "1"}
    assert run_python(good, "-m", "gridloom", **variables).stdout.split() == ["greet"]


def test_the_option_switches_them_off_for_one_command(good: Path, gridloom) -> None:
    assert gridloom("--no-plugins", "list", "plugins").out == "plug-ins are switched off\n"
    assert gridloom("--no-plugins", "greet").err == "error: No such command 'greet'; see gridloom --help\n"
    assert not is_imported()
    assert gridloom("greet").status == 0
    assert "no kernel is called 'twice'" in gridloom("--no-plugins", "show", "kernel:twice").err


def test_the_environment_switches_them_off(good: Path, gridloom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDLOOM_PLUGINS", "off")
    assert gridloom("greet").status == 2
    monkeypatch.setenv("GRIDLOOM_PLUGINS", "on")
    assert gridloom("greet").status == 0
    monkeypatch.setenv("GRIDLOOM_PLUGINS", "perhaps")
    assert gridloom("list").err == "error: GRIDLOOM_PLUGINS: expected on or off, found 'perhaps'\n"


def test_a_program_switches_them_off(good: Path) -> None:
    assert registry.has("kernels", "twice")
    plugins.switch(False)
    assert not registry.has("kernels", "twice") and plugins.find_plugins() == ()
    plugins.switch(True)
    assert registry.has("kernels", "twice")
