"""A source that a saved file names is used only when the command line names it, too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PYTHON = (
    "from pathlib import Path\nimport gridloom as gl\nPath(__file__).with_name('ran').touch()\n@gl.kernel\n"
    "def k(x: gl.Array[gl.int32], y: gl.Array[gl.int32], n: gl.int32):\n"
    "    for i in gl.loop(n):\n        y[i] = 3 * x[i]\n"
)
SUITE = "suite: mine\nmapper: auto\nbudget: {{effort: 100}}\nsources: ['{}:k']\narchs: ['mesh:4x4']\n"
SPACE = (
    "explore: mine\nkernels: ['{}']\narray: 'mesh:{{side}}x{{side}}'\nparameters: {{side: [4]}}\n"
    "budget: {{effort: 100}}\nobjectives: [mapped]\n"
)
PROGRAM = "flows:\n  - {{name: a, source: '{}:k', iterations: 4}}\n"


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    (tmp_path / "evil.py").write_text(PYTHON)
    return tmp_path / "evil.py"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["bench"], SUITE),
        (["explore"], SPACE),
        (["program", "--arch", "streaming-engine:16,spokes=6"], PROGRAM),
    ],
    ids=["bench", "explore", "program"],
)
def test_python_that_a_yaml_file_names_is_not_executed(gridloom, evil, tmp_path, words, text):
    file = tmp_path / "saved.yaml"
    file.write_text(text.format(evil))
    done = gridloom(words[0], file, *words[1:])
    assert done.status == 2 and "is Python and would be executed; allow that with --source FILE" in done.err
    assert len(done.err.strip().splitlines()) == 1 and not (tmp_path / "ran").exists()


def test_a_pattern_of_a_space_leads_to_no_python(gridloom, evil, tmp_path):
    (tmp_path / "space.yaml").write_text(SPACE.format(f"{tmp_path}/e*"))
    assert gridloom("explore", tmp_path / "space.yaml").status == 2
    assert not (tmp_path / "ran").exists()


def test_python_that_the_command_line_names_is_executed(gridloom, evil, tmp_path):
    (tmp_path / "saved.yaml").write_text(SUITE.format(evil))
    done = gridloom("bench", tmp_path / "saved.yaml", "--source", evil, "--jobs", "1")
    assert done.status in (0, 1), done.err
    assert (tmp_path / "ran").exists()


@pytest.mark.tools
def test_a_compiled_function_does_not_lead_to_its_source(gridloom, tmp_path):
    pytest.importorskip("ziglang")
    source = tmp_path / "f.c"
    source.write_text("int f(int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }\n")
    saved = tmp_path / "f.json"
    assert gridloom("compile", f"{source}:f", "--arch", "torus:4x4", "--effort", "2000", "-o", saved).status == 0
    done = gridloom("compile", saved, "--random", "1")
    assert done.status == 2 and "read that file and name it: --source FILE" in done.err
    assert gridloom("compile", saved, "--source", source, "--random", "1").status == 0


@pytest.mark.parametrize("name", ["/etc/passwd", "/proc/self/environ", "evil.py", "../x.c", "f.c"])
def test_a_hostile_function_file_is_refused_before_its_source_is_opened(gridloom, tmp_path, name):
    record = {"format": "gridloom-function", "version": 1, "source": name, "function": "f", "loops": []}
    (tmp_path / "innocent.json").write_text(json.dumps(record))
    done = gridloom("compile", tmp_path / "innocent.json", "--random", "1")
    assert done.status == 2 and "name it: --source FILE" in done.err and len(done.err.strip().splitlines()) == 1


def test_a_source_beside_a_function_of_a_file_is_refused(gridloom):
    done = gridloom("compile", "f.c:f", "--arch", "torus:4x4", "--source", "g.c")
    assert done.status == 2 and "--source: is for a file that -o wrote; leave it out" in done.err
