"""Files that are no regular files are refused at once and in words, whatever reads them."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gridloom.compiler import placement
from gridloom.errors import GridloomError, SourceError
from gridloom.flow.bench.golden import read_golden
from gridloom.flow.bench.suite import load_suite
from gridloom.flow.files import load_any, load_mapping
from gridloom.flow.inputs import read_arch, read_source
from gridloom.hardware.bitstream.files import load_bits
from gridloom.learn import weights
from gridloom.run.store import Store, StoreError
from gridloom.text_file import read_bytes, read_text
from gridloom.yaml_text import read_yaml_file

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes on this system")

KINDS = {
    "pipe": "is a named pipe; expected a regular file",
    "device": "is a device; expected a regular file",
    "socket": "is a socket; expected a regular file",
    "folder": "is a directory; expected a file",
}


@pytest.fixture(params=KINDS)
def special(request, tmp_path, monkeypatch):
    """A function that makes something other than a regular file under a name, and the words that refuse it."""
    monkeypatch.chdir(tmp_path)

    def make(name):
        path = Path(name)
        if request.param == "pipe":
            os.mkfifo(path)
        elif request.param == "device":
            path.symlink_to("/dev/zero")
        elif request.param == "socket":
            # The address of a socket is short, so that it is named from inside the folder.
            with socket.socket(socket.AF_UNIX) as end:
                end.bind(name)
        else:
            path.mkdir()
        return path

    make.words = KINDS[request.param]
    return make


def refused(call, words, kind=GridloomError):
    with pytest.raises(kind, match=re.escape(words)):
        call()


@pytest.mark.parametrize("read", [read_text, read_bytes])
def test_reader_refuses_what_is_no_regular_file(special, read):
    path = special("input")
    refused(lambda: read(path), f"input: {special.words}", SourceError)


def test_link_to_a_regular_file_is_read(tmp_path):
    (tmp_path / "real").write_bytes(b"text")
    (tmp_path / "link").symlink_to("real")
    assert read_bytes(tmp_path / "link") == b"text"


def test_file_at_the_limit_is_read_and_one_byte_more_is_not(tmp_path):
    path = tmp_path / "input"
    path.write_bytes(b"12345")
    assert read_bytes(path, limit=5) == b"12345"
    with pytest.raises(SourceError, match="is larger than 4 bytes, the most that is read"):
        read_bytes(path, limit=4)


def test_file_that_says_it_is_empty_is_read_to_the_limit_only():
    # The size of a file of /proc is 0 until it is read.
    with pytest.raises(SourceError, match="is larger than 3 bytes"):
        read_bytes(Path("/proc/self/status"), limit=3)


READERS = {
    **dict.fromkeys(("g.dot", "g.json", "g.xml", "g.txt", "x_node.txt", "x_nodes", "x_edges"), read_source),
    **dict.fromkeys(("f.c", "f.c:f", "f.py", "f.py:f"), read_source),
    **dict.fromkeys(("a.yaml", "a.xml"), read_arch),
    "m.json": load_mapping,
    "any.json": load_any,
    "suite.yaml": load_suite,
    "space.yaml": lambda name: read_yaml_file(Path(name)),
    "golden.csv": lambda name: read_golden(Path(name)),
    "w.npz": lambda name: weights.load(Path(name)),
    "a.bits": lambda name: load_bits(Path(name), read_arch("mesh:2x2")),
}


@pytest.mark.parametrize("name", READERS)
def test_every_kind_of_input_refuses_what_is_no_regular_file(special, name):
    special(name.partition(":")[0])
    if name in ("x_nodes", "x_edges"):
        special("x_edges" if name == "x_nodes" else "x_nodes")
    if name == "x_node.txt":
        special("x_edge.txt")
    refused(lambda: READERS[name](name), special.words)


@pytest.mark.parametrize("name", ["p.json", "p.place", "p.txt"])
def test_placement_refuses_what_is_no_regular_file(special, name):
    dfg, arch = read_source("kernel:vector_add"), read_arch("mesh:2x2")
    path = special(name)
    refused(lambda: placement.read(path, dfg, arch), special.words)


def test_onnx_file_refuses_what_is_no_regular_file(special):
    pytest.importorskip("onnx")
    special("net.onnx")
    refused(lambda: read_source("net.onnx"), special.words)


@pytest.mark.parametrize("readonly", [False, True])
def test_store_refuses_what_is_no_regular_file(special, readonly):
    path = special("results.sqlite")
    refused(lambda: Store(path, readonly=readonly), special.words, StoreError)


def test_store_refuses_a_write_ahead_file_that_is_no_regular_file(special):
    special("results.sqlite-wal")
    refused(lambda: Store("results.sqlite"), f"results.sqlite-wal: {special.words}", StoreError)


COMMANDS = (
    ["map", "pipe.dot", "--arch", "mesh:2x2"],
    ["map", "kernel:vector_add", "--arch", "pipe.yaml"],
    ["map", "kernel:vector_add", "--arch", "mesh:2x2", "--place", "pipe.json"],
    ["check", "pipe.json"],
    ["simulate", "pipe.json"],
    ["show", "pipe.json"],
    ["bench", "pipe.yaml"],
)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_command_on_a_named_pipe_ends_with_one_line(tmp_path, words):
    for name in ("pipe.dot", "pipe.yaml", "pipe.json"):
        os.mkfifo(tmp_path / name)
    done = subprocess.run(
        [sys.executable, "-m", "gridloom", *words], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert re.fullmatch(r"error: pipe\.\w+: is a named pipe; expected a regular file\n", done.stderr)
