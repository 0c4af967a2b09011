"""The table of docs/security.md: what a command executes, reads and writes is what Python's audit events show."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import REPOSITORY

from gridloom.cli.app import COMMANDS
from gridloom.mapping import json_format

#: What a cell of the column "executes" may say, and what a process that is started looks like.
KINDS = {
    "clang": re.compile(r"zig(?:\.exe)?$|clang"),
    "native code": re.compile(r"gridloom-native-"),
    "tools of the system": re.compile(r"/(?:verilator|iverilog|vvp|yosys|nextpnr\S*|vpr|\S*-gcc|make|g\+\+)$"),
}
WORDS = {*KINDS, "nothing", "named Python", "Python after consent"}
#: Started by Python itself or to look at the machine; they execute nothing of the user's.
HARMLESS = re.compile(r"(?:ldconfig|objdump|gcc|ld|uname|bwrap|python[\d.]*|sh)$")
_WATCH = """
import json, sys
events = []
def watch(event, arguments):
    if event == "subprocess.Popen":
        words = [arguments[1]] if isinstance(arguments[1], str) else arguments[1]
        events.append(["start", [str(word) for word in words]])
    elif event == "open" and isinstance(arguments[0], str):
        mode = arguments[1] if isinstance(arguments[1], str) else ""
        writes = any(letter in mode for letter in "wax+") or (not mode and arguments[2] & 3)
        events.append(["write" if writes else "read", arguments[0]])
sys.addaudithook(watch)
from gridloom.cli import run
sys.argv = ["gridloom", *sys.argv[2:]]
try:
    run()
finally:
    print("EVENTS" + json.dumps(events), file=sys.__stderr__)
"""


def table() -> dict[str, list[str]]:
    """Command -> the cells of its row."""
    text = (REPOSITORY / "docs" / "security.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (.*) \|$", text, re.M)
    return {name: [cell.strip() for cell in cells.split("|")] for name, cells in rows}


def test_every_command_has_a_row():
    assert set(table()) == {name for name, _ in COMMANDS}


@pytest.mark.parametrize("command", table())
def test_a_row_uses_the_words_that_the_page_explains(command):
    executes, reads, writes = table()[command]
    assert set(executes.split(", ")) <= WORDS and reads and writes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files to name, and decoys beside them that no command has a reason to open."""
    from tests import hand_mappings as hand

    (tmp_path / "m.json").write_text(json_format.dumps(hand.LEGAL["torus_rotating"]()))
    (tmp_path / "f.c").write_text(
        "int f(int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }\n"
    )
    (tmp_path / "s.yaml").write_text(
        "suite: mine\nmapper: auto\nbudget: {effort: 100}\nsources: ['kernel:fir']\narchs: ['mesh:5x5']\n"
    )
    (tmp_path / "x.yaml").write_text(
        "explore: mine\nkernels: ['kernel:fir']\narray: 'mesh:{side}x{side}'\nparameters: {side: [5]}\n"
        "budget: {effort: 100}\nobjectives: [mapped]\n"
    )
    (tmp_path / "p.yaml").write_text("flows:\n  - {name: a, source: 'kernel:dot_product', iterations: 4}\n")
    (tmp_path / "k.py").write_text(
        "import gridloom as gl\n@gl.kernel\ndef k(x: gl.Array[gl.int32], y: gl.Array[gl.int32], n: gl.int32):\n"
        "    for i in gl.loop(n):\n        y[i] = x[i]\n"
    )
    for name in ("decoy.c", "decoy.py", "decoy.json", "decoy.yaml"):
        (tmp_path / name).write_text("raise SystemExit(9)\n")
    return tmp_path


#: Commands that take seconds; what they may write lies in the folder.
RUNS = {
    "map": ["map {}/f.c --arch torus:4x4 --effort 500 -o {}/out.json", "map kernel:fir --arch mesh:5x5 --effort 100",
            "map {}/k.py:k --arch mesh:5x5 --effort 100"],
    "compile": ["compile {}/f.c:f --arch torus:4x4 --effort 500 --random 1 -o {}/out.json",
                "compile {}/f.c:f --arch torus:4x4 --effort 500 --random 1 --no-native"],
    "check": ["check {}/m.json"],
    "simulate": ["simulate {}/m.json"],
    "show": ["show {}/m.json", "show {}/f.c", "show mesh:4x4 --svg {}/out.svg"],
    "bench": ["bench {}/s.yaml --jobs 1"],
    "explore": ["explore {}/x.yaml --jobs 1"],
    "program": ["program {}/p.yaml --arch streaming-engine:16,spokes=6 --effort 1000"],
    "rtl": ["rtl mesh:2x2 -o {}/out"],
    "vpr": ["vpr kernel:fir --arch mesh:6x6 -o {}/out"],
    "partition": ["partition kernel:fir --arch vpcma"],
    "estimate": ["estimate kernel:fir --arch torus:4x4"],
    "doctor": ["doctor"],
    "list": ["list archs"],
}  # fmt: skip
SAMPLES = [(name, words) for name, rows in RUNS.items() for words in rows]


def events_of(folder: Path, words: str) -> list[tuple[str, object]]:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    given = words.replace("{}", str(folder)).split()
    done = subprocess.run([sys.executable, "-c", _WATCH, "--", *given], capture_output=True, text=True,
                          timeout=300, check=False, env=environment, cwd=folder)  # fmt: skip
    assert done.returncode in (0, 1), done.stderr[-2000:]
    return [tuple(row) for row in json.loads(done.stderr.rpartition("EVENTS")[2])]


def kinds_of(words: list[str]) -> set[str]:
    return {kind for kind, pattern in KINDS.items() if any(pattern.search(word) for word in words)}


@pytest.mark.tools
@pytest.mark.slow
@pytest.mark.parametrize(("command", "words"), SAMPLES, ids=[words.replace("{}/", "") for _, words in SAMPLES])
def test_a_command_does_what_its_row_says(folder, command, words):
    pytest.importorskip("ziglang")
    executes = table()[command][0].split(", ")
    before = set(folder.rglob("*"))
    for event, what in events_of(folder, words):
        if event == "start":
            assert isinstance(what, list)
            kinds = kinds_of(what)
            assert kinds <= set(executes), (kinds, what)
            assert kinds or HARMLESS.search(what[0]), what
        else:
            path = Path(os.path.join(folder, str(what)))
            assert not path.name.startswith("decoy"), what
            if event == "write" and path.is_relative_to(folder):
                assert "out" in path.name or "out" in path.relative_to(folder).parts[0] or path.name.startswith("."), (
                    path
                )
    made = set(folder.rglob("*")) - before
    assert all(path.relative_to(folder).parts[0].startswith("out") for path in made), made
    if "-o" not in words and "--svg" not in words:
        assert not made


def test_the_watch_sees_a_process_and_a_file():
    """The planted fault: what the table forbids would be seen."""
    assert kinds_of(["/bin/sh", "-c", "x", "/lib/ziglang/zig", "cc"]) == {"clang"}
    assert kinds_of(["/tmp/gridloom-native-x/program"]) == {"native code"}
    assert kinds_of(["/usr/bin/verilator"]) == {"tools of the system"}
