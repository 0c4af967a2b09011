"""``gridloom list`` and ``--version``: what they say, and that they load nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from gridloom import registry
from gridloom._version import __version__

HEAVY = ("numba", "torch", "numpy", "rustworkx", "networkx", "matplotlib", "distributed")


def loaded_by(*words):
    """The heavy packages that a command line loads, and what it prints, in a process of its own."""
    probe = (
        "import sys, json\nfrom gridloom.cli import main\nstatus = main(sys.argv[1:])\n"
        f"print(json.dumps([status, sorted(set({HEAVY!r}) & sys.modules.keys())]), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", probe, *words], capture_output=True, text=True, check=True)
    status, found = json.loads(done.stderr.splitlines()[-1])
    return status, found, done.stdout


@pytest.mark.parametrize("words", [["--version"], *(["list", group] for group in registry.GROUPS)], ids=" ".join)
def test_names_and_version_load_nothing_heavy(words):
    status, found, _ = loaded_by(*words)
    assert (status, found) == (0, [])


@pytest.mark.parametrize("words", [["--help"], ["map", "--help"], ["bench", "--help"]], ids=" ".join)
def test_help_loads_nothing_heavy(words):
    status, found, out = loaded_by(*words)
    assert (status, found) == (0, [])
    assert "Usage: gridloom" in out


def test_a_command_imports_no_other():
    probe = (
        "import sys\nfrom gridloom.cli import main\nmain(['show', 'torus:2x2'])\nprint(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    inside = {name for name in done.stderr.split() if name.startswith("gridloom.cli.commands.")}
    assert [name for name in inside if "show" not in name] == []


def test_version(gridloom):
    done = gridloom("--version")
    assert (done.status, done.out) == (0, f"gridloom {__version__}\n")


@pytest.mark.parametrize("group", registry.GROUPS)
def test_list_has_every_name_once_with_its_summary(gridloom, group):
    done = gridloom("list", group)
    names = [line.split()[0] for line in done.out.splitlines()]
    assert done.status == 0
    assert names == (registry.names(group) or ["no"])


def test_list_as_json(gridloom):
    rows = gridloom("list", "archs", "--json").record["archs"]
    assert rows[0] == {"name": "mesh", "summary": "static grid in which each tile has 4 neighbours", "extra": None}


def test_list_without_a_group_lists_the_groups(gridloom):
    done = gridloom("list")
    listed = [line.split()[0] for line in done.out.splitlines()]
    assert (done.status, listed) == (0, [*registry.GROUPS, "plugins"])
    rows = gridloom("list", "--json").record["groups"]
    assert rows[0] == {
        "name": "archs",
        "summary": "families of arrays, for --arch",
        "names": len(registry.names("archs")),
    }


def test_unknown_list_names_the_known_ones(gridloom):
    done = gridloom("list", "arch")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: there is no list of 'arch'; known: archs, mappers, kernels, ")


def test_unknown_command(gridloom):
    done = gridloom("mapp")
    assert done.status == 2
    assert done.err == "error: No such command 'mapp'. Did you mean 'map'? See gridloom --help\n"


def test_closed_output_ends_without_a_word():
    command = f"{sys.executable} -m gridloom list kernels | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""
