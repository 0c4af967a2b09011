"""``gridloom doctor`` says what there is, and how to get what is missing."""

from __future__ import annotations

from importlib import metadata

import pytest

from gridloom.compiler.confinement import Sandbox
from gridloom.flow import doctor


def test_versions_extras_tools_caches_and_the_sandbox_are_listed(gridloom):
    done = gridloom("doctor", "--json")
    assert done.status == 0
    record = done.record
    assert set(record) == {"versions", "extras", "tools", "caches", "sandbox"}
    assert record["versions"]["numpy"] == metadata.version("numpy")
    assert record["extras"]["exact"]["install"] == "pip install '.[exact]'"
    assert {"clang", "bwrap", "verilator"} <= record["tools"].keys()
    assert record["sandbox"]["native"] == bool(record["sandbox"]["seccomp"] or record["sandbox"]["bubblewrap"])


def test_the_text_has_every_part(gridloom):
    lines = gridloom("doctor").out.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [
        "versions", "extras", "tools", "caches", "sandbox of native code",
    ]  # fmt: skip


def test_a_missing_extra_comes_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "deap" else "1")
    text = doctor.examine().text
    assert "deap MISSING: pip install '.[genetic]'" in text


@pytest.mark.parametrize(
    ("sandbox", "text"),
    [
        (Sandbox(True, "/usr/bin/bwrap"), "seccomp and bubblewrap, with limits on time, memory, files and processes"),
        (Sandbox(True, ""), "seccomp, with limits on time, memory, files and processes"),
        (Sandbox(False, "/usr/bin/bwrap"), "bubblewrap, with limits on time, memory, files and processes"),
        (Sandbox(False, ""), "none: C is compared by interpreting its IR, and no native code runs"),
    ],
)
def test_the_sandbox_is_named(monkeypatch, sandbox, text):
    monkeypatch.setattr(doctor, "find_sandbox", lambda: sandbox)
    assert doctor.examine().text.endswith(text)
