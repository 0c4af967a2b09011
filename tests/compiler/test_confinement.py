"""A process that confines itself computes and writes what is open, and reaches nothing else."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from gridloom.compiler.confinement import Sandbox, filter_rows, find_sandbox

_TRY = """
import sys
from gridloom.compiler.confinement import confine_here
out = open(sys.argv[1], "w")
if {confined}:
    assert confine_here()
try:
    {statement}
    print("done", file=out)
except OSError as error:
    print("refused", file=out)
out.close()
"""
STATEMENTS = {
    "read": "open('/etc/passwd').read()",
    "write": "open(sys.argv[1] + '.other', 'w')",
    "process": "import subprocess; subprocess.run(['/bin/true'], check=True)",
    "network": "import socket; socket.socket()",
    "remove": "import os; os.remove(sys.argv[1])",
    "folder": "import os; os.mkdir(sys.argv[1] + '.folder')",
}


def outcome(tmp_path, name: str, confined: bool) -> str:
    # What is imported has to be there before the process confines itself.
    text = "import os, socket, subprocess\n" + _TRY.format(confined=confined, statement=STATEMENTS[name])
    out = tmp_path / "out.txt"
    subprocess.run([sys.executable, "-c", text, str(out)], check=True, timeout=60, capture_output=True)
    return out.read_text().strip() if out.exists() else "done"


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not find_sandbox().seccomp, reason="the filter is for 64-bit x86 with seccomp"
)
@pytest.mark.parametrize("name", STATEMENTS)
def test_a_confined_process_reaches_nothing(tmp_path, name):
    assert outcome(tmp_path, name, confined=True) == "refused"


@pytest.mark.skipif(sys.platform != "linux", reason="the statements are for Linux")
@pytest.mark.parametrize("name", STATEMENTS)
def test_without_the_filter_the_same_succeeds(tmp_path, name):
    """The planted fault: it is the filter that refuses."""
    assert outcome(tmp_path, name, confined=False) == "done"


def test_a_filter_ends_with_what_happens_to_other_calls():
    rows = filter_rows((1, 2), (3,))
    assert rows[-1] == (0x06, 0, 0, 0x80000000) and len(rows) == 4 + 2 * 3 + 1


def test_a_program_starts_under_bubblewrap_where_it_is(tmp_path):
    assert Sandbox(True, "").around(tmp_path / "p") == [str(tmp_path / "p")]
    words = Sandbox(True, "/usr/bin/bwrap").around(tmp_path / "p")
    assert words[0] == "/usr/bin/bwrap" and "--unshare-all" in words and words[-1] == "/program"
