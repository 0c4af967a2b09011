"""A Python file that exits, hangs or takes too much memory when it is imported is an error of one line."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gridloom.compiler.python import trial
from gridloom.compiler.python.definitions import only_defines
from gridloom.compiler.python.kernel import read
from gridloom.compiler.python.module_file import execute
from gridloom.errors import SourceError


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    def write(text: str) -> Path:
        Path("source.py").write_text(text)
        return Path("source.py")

    return write


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import sys\nsys.exit(0)\n", "calls for an exit"),
        ("raise SystemExit('words')\n", "calls for an exit"),
        ("raise KeyboardInterrupt\n", "calls for an exit"),
        ("import os\nos._exit(0)\n", "ends the program with status 0"),
        ("import os\nos.abort()\n", "ends the program with status -6"),
    ],
)
def test_file_that_exits_is_refused(source, text: str, found: str):
    with pytest.raises(SourceError) as refusal:
        execute(source(text))
    words = "put what is no definition under if __name__ == '__main__'"
    assert str(refusal.value) == f"source.py: its import {found}; {words}"


def test_file_that_hangs_is_stopped_with_what_it_started(source, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(trial, "TIME_LIMIT", 0.5)
    with pytest.raises(SourceError) as refusal:
        execute(source("import subprocess\nsubprocess.run(['sh', '-c', 'sleep 1; touch left'])\nwhile True: pass\n"))
    assert str(refusal.value) == (
        "source.py: its import did not end within 0.5 s and was stopped; leave definitions only outside of functions"
    )
    time.sleep(1.2)
    assert not Path("left").exists()


def test_file_that_hangs_ends_with_the_program_that_reads_it(source):
    path = source("import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(3600)\n")
    reading = (
        f"from gridloom.compiler.python.module_file import execute; from pathlib import Path; execute(Path('{path}'))"
    )
    reader = subprocess.Popen([sys.executable, "-c", reading])
    while not (Path("pid").exists() and Path("pid").read_text()):
        time.sleep(0.05)
    reader.kill()
    reader.wait()
    hanging = Path("/proc") / Path("pid").read_text()
    for _ in range(600):
        if not hanging.exists():
            return
        time.sleep(0.05)
    raise AssertionError("it still runs")


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="the limit on memory is one of Linux")
def test_file_that_takes_too_much_memory_is_refused(source):
    with pytest.raises(SourceError) as refusal:
        execute(source("x = bytearray(3 << 30)\n"))
    assert str(refusal.value) == "source.py: its import needs more than 2048 MB; make the data in it smaller"


def test_trial_prints_nothing_and_reads_nothing(source, capfd: pytest.CaptureFixture):
    execute(source("import sys\nif sys.modules.get('pytest') is None: print('trial', sys.stdin.read())\n"))
    assert capfd.readouterr() == ("", "")


def test_unchanged_file_is_tried_once(source):
    path = source("from pathlib import Path\nwith Path('log').open('a') as log: log.write('x')\n")
    execute(path)
    execute(path)
    assert Path("log").read_text() == "xxx"


def test_main_part_of_a_script_is_not_run(source):
    assert execute(source("import sys\nx = 3\nif __name__ == '__main__':\n    sys.exit(1)\n")).x == 3


PLAIN = '''"""Kernels."""
from __future__ import annotations
import math
import torch.nn as nn
import gridloom as gl
from gridloom import Array, int32
SIZE = 64
LIMITS: tuple = (-1, SIZE)
@gl.kernel
def f(x: Array[int32, SIZE], n: int32 = 3):
    while True:
        exit()
class Net(nn.Module):
    width = 4
    def forward(self, x):
        return g(x)
if __name__ == "__main__":
    f()
'''


def test_file_that_only_defines_needs_no_trial():
    assert only_defines(PLAIN)


@pytest.mark.parametrize(
    "text",
    [
        "while True: pass\n",
        "x = exit()\n",
        "x = 10 ** 10 ** 10\n",
        "x = [0 for _ in y]\n",
        "import beside\n",
        "from . import beside\n",
        "import this\n",
        "@f\ndef f(): pass\n",
        "def mine(g):\n    exit()\n@mine\ndef f(): pass\n",
        "def f(x=exit()): pass\n",
        "def f(x: exit()): pass\n",
        "class A:\n    exit()\n",
        "class A(metaclass=B): pass\n",
        "@a.b\nclass A: pass\n",
        "for x in y: pass\n",
        "if x: pass\n",
        "del x\n",
        "assert x\n",
        "raise SystemExit\n",
        "x += 1\n",
        "f'{x}'\n",
    ],
)
def test_file_that_does_more_is_tried(text: str):
    assert not only_defines(PLAIN + text)


def test_kernel_that_exits_while_it_is_traced_is_refused(source):
    text = "import sys\nfrom gridloom import int32, kernel\n@kernel\ndef f(n: int32):\n    sys.exit(3)\n"
    with pytest.raises(SourceError, match=r"source\.py:5: .*SystemExit"):
        read(source(text))
