"""Every reader of files, with a file that it takes, and ways to break that file.

Run as a script it is the child process of `test_broken_files.py`: it reads many broken files one after the other under
a limit on its memory, and prints a line of JSON for each file that did anything but be read or be refused in words.

    python -m tests.fuzz.readers READER FIRST COUNT FOLDER
"""

from __future__ import annotations

import io
import json
import os
import random
import resource
import sqlite3
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.compiler import conftest as graphs
from tests.targets.rows.families.test_genmap import ONE_PE

from gridloom.errors import GridloomError

#: Memory that a reader may use beyond the code of the libraries, and seconds that it may take.
MAX_BYTES = 2 << 30
MAX_SECONDS = 30.0

C_LOOP = "int f(int *a, int *b, int n) {\n  int s = 0;\n  for (int i = 0; i < n; i++) s += a[i];\n  return s;\n}\n"
PYTHON_LOOP = (
    "import gridloom as gl\nfrom gridloom import Array, int32, loop\n\n\n@gl.kernel\n"
    "def scale(x: Array[int32, 64], y: Array[int32, 64], n: int32):\n    for i in loop(n):\n        y[i] = 3 * x[i]\n"
)
ARRAY = "family: torus\nrows: 2\ncols: 2\nregs: 2\nlatency:\n  mul: 2\n"
DESCRIBED = (
    "name: four\nstyle: modulo\nrows: 3\ncols: 3\nlinks:\n  - mesh\n  - {pattern: onehop, along: rows}\n"
    "  - {from: [0, 0], to: [2, 2], both: true}\ntiles:\n  - {ops: [alu], registers: 2}\n"
    "  - {where: {col: 0}, ops: {add: memory}}\n  - {where: [2, 2], ops: {add: div}, latency: {div: 4}, "
    "occupancy: {div: 4}}\nmemory: {ports: row}\n"
)
MLIR = (
    "func.func @scale(%x: memref<64xi32>, %y: memref<64xi32>) {\n  %c = arith.constant 3 : i32\n"
    "  affine.for %i = 0 to 64 {\n    %a = affine.load %x[%i] : memref<64xi32>\n    %b = arith.muli %a, %c : i32\n"
    "    affine.store %b, %y[%i] : memref<64xi32>\n  }\n  return\n}\n"
)
SUITE = 'suite: s\nbudget: {effort: 2000}\nseeds: [0]\nsources: [kernel:fir]\narchs: ["mesh:4x4"]\n'
SPACE = (
    'explore: s\nkernels: [kernel:fir]\narray: "{topology}:4x4,fifo={fifo}"\nparameters:\n  topology: [mesh, chess]\n'
    "  fifo: {from: 0, to: 2}\nbudget: {effort: 200}\nobjectives: [mapped, area]\n"
)
PROGRAM = (
    'program: p\nflows:\n  - {name: a, source: "kernel:dot_product", iterations: 24}\n'
    '  - {name: b, source: "kernel:axpy", iterations: 40}\nchannels:\n  - {kind: load, from: a.sum, to: b.a}\n'
)
GOLDEN = "source,arch,seed,status,ii\nkernel:fir,mesh:4x4,0,mapped,1\n"
PEERS = "dfg,size,mapper,II,status\nfir,4x4,x,3,ok\n"
VPR = "Netlist_File: g\nArray size: 4 x 4 logic blocks\n\n#block name x y subblk\nx 1 1 0 #0\n"
NEOSA_PLACE = ". 0 .\n1 2 .\n"


class Reader(NamedTuple):
    """A reader: the ending of its files, a file that it takes, what reads it, and the other files beside it."""

    ending: str
    sample: Callable[[], bytes]
    read: Callable[[Path], object]
    #: Ending -> text of a file of the same stem.
    beside: dict[str, str] = {}
    #: True where a file costs a process of its own.
    slow: bool = False


def _text(text: str) -> Callable[[], bytes]:
    return lambda: text.encode()


def _graph(path: Path) -> object:
    from gridloom.compiler.source import read_graph

    return read_graph(path)


def _loop(path: Path) -> object:
    from gridloom.compiler.source import load_source

    return load_source(str(path))


def _array(path: Path) -> object:
    from gridloom.archs import build

    return build(path)


def _genmap(path: Path) -> object:
    from gridloom.targets.rows.families import genmap

    return genmap.read(path)


def _mapping(path: Path) -> object:
    from gridloom.flow.confirmation import illegalities
    from gridloom.flow.files import load_mapping

    return illegalities(load_mapping(path))


def _mapping_text() -> bytes:
    from tests.hand_mappings import LEGAL

    from gridloom.mapping import json_format

    return json_format.dumps(next(iter(LEGAL.values()))()).encode()


def _placement(path: Path) -> object:
    from gridloom.archs import build
    from gridloom.compiler.placement import read
    from gridloom.flow.inputs import prepare

    arch = build("mesh:4x4")
    return read(path, prepare("kernel:axpy", arch).dfg, arch, complete=False)


def _suite(path: Path) -> object:
    from gridloom.flow.bench.suite import load_suite

    return load_suite(str(path))


def _space(path: Path) -> object:
    from gridloom.explore.space import read_space

    return read_space(path)


def _program(path: Path) -> object:
    from gridloom.targets.streaming.program.run import read_program

    return read_program(path, "streaming-engine:8")


def _golden(path: Path) -> object:
    from gridloom.flow.bench.golden import read_golden

    return read_golden(path)


def _peers(path: Path) -> object:
    from gridloom.flow.bench.peers import _table

    return _table.__wrapped__(path)


def _bits_sample() -> bytes:
    from tests.hand_mappings import LEGAL

    from gridloom.hardware.bitstream.encode import encode, fit_parameters
    from gridloom.hardware.bitstream.files import to_hex
    from gridloom.hardware.bitstream.packets import pack
    from gridloom.hardware.rtl.structure import Hardware
    from gridloom.mapping import configure

    configuration = configure(next(iter(LEGAL.values()))())
    hardware = Hardware(configuration.arch, fit_parameters(configuration))
    return to_hex(hardware, pack(hardware, encode(configuration, hardware))).encode()


def _bits(path: Path) -> object:
    from tests.hand_mappings import LEGAL

    from gridloom.hardware.bitstream.files import load_bits

    return load_bits(path, next(iter(LEGAL.values()))().arch)


def _weights_sample() -> bytes:
    import numpy as np

    from gridloom.learn import weights

    path = Path(sys.argv[-1]) / "sample.npz"
    weights.save(path, {"a.weight": np.ones((3, 4), dtype=np.float32)}, {"layers": 1})
    return path.read_bytes()


def _weights(path: Path) -> object:
    from gridloom.learn import weights

    return weights.load(path)


def _onnx_sample() -> bytes:
    import onnx
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 6])
    w = helper.make_tensor("w", TensorProto.FLOAT, [8, 6], [0.0] * 48)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Relu", ["m"], ["y"])]
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y], [w]))
    buffer = io.BytesIO()
    onnx.save(model, buffer)
    return buffer.getvalue()


def _store_sample() -> bytes:
    from gridloom.run import JobOutcome, Store, ask

    path = Path(sys.argv[-1]) / "sample.db"
    path.unlink(missing_ok=True)
    with Store(path) as store:
        for n in range(40):
            job = ask(abs, {"n": n})
            store.put(job, JobOutcome(job.key, "done", n))
        store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


def _store(path: Path) -> object:
    from gridloom.run import Store

    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    with Store(path, readonly=True) as store:
        found = list(store.rows())
    with Store(path) as store:
        return found, store.counts()


READERS: dict[str, Reader] = {
    "dot": Reader(".dot", _text(graphs.OURS), _graph),
    "dot-neosa": Reader(".dot", _text(graphs.NEOSA), _graph),
    "dot-genmap": Reader(".dot", _text(graphs.GENMAP), _graph),
    "json": Reader(".json", _text(graphs.JSON), _graph),
    "ccf": Reader("_node.txt", _text(graphs.CCF_NODES), _graph, {"_edge.txt": graphs.CCF_EDGES}),
    "satmapit": Reader("_nodes", _text(graphs.SATMAPIT["_nodes"]), _graph, dict(list(graphs.SATMAPIT.items())[1:])),
    "morpher": Reader(".xml", _text(graphs.MORPHER), _graph),
    "e2emap": Reader(".txt", _text(graphs.E2EMAP), _graph),
    "onnx": Reader(".onnx", _onnx_sample, _graph),
    "c": Reader(".c", _text(C_LOOP), _loop, slow=True),
    "python": Reader(".py", _text(PYTHON_LOOP), _loop, slow=True),
    "array-yaml": Reader(".yaml", _text(ARRAY), _array),
    "array-by-tile": Reader(".yaml", _text(DESCRIBED), _array),
    "mlir": Reader(".mlir", _text(MLIR), _loop, slow=True),
    "genmap-xml": Reader(".xml", _text(ONE_PE), _genmap),
    "mapping": Reader(".json", _mapping_text, _mapping),
    "placement-json": Reader(".json", _text('{"x": "pe_0_0"}'), _placement),
    "placement-vpr": Reader(".place", _text(VPR), _placement),
    "placement-neosa": Reader(".init", _text(NEOSA_PLACE), _placement),
    "suite": Reader(".yaml", _text(SUITE), _suite),
    "space": Reader(".yaml", _text(SPACE), _space),
    "program": Reader(".yaml", _text(PROGRAM), _program),
    "golden": Reader(".csv", _text(GOLDEN), _golden),
    "peers": Reader(".csv", _text(PEERS), _peers),
    "bits": Reader(".hex", _bits_sample, _bits),
    "weights": Reader(".npz", _weights_sample, _weights),
    "store": Reader(".db", _store_sample, _store),
}


# -- broken files -----------------------------------------------------------------------------------------------------

DEEP = (b"[", b"{", b"(", b'{"a":', b"<a>", b"- ", b"a: {", b"!", b"-", b"\"'", b"#if 1\n", b"if x:\n ", b"[[]]", b"*&")
ODD = (b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\x1b[2J", b"\r", b"\x85", b"\xed\xa0\x80", b"9" * 5000, b"NaN")


def broken(sample: bytes, rng: random.Random) -> bytes:
    """A file after one or two ways to break it."""
    data = sample
    for _ in range(rng.choice((1, 1, 2))):
        if len(data) < 100_000:
            data = rng.choice(BREAKS)(data, rng)
    return data


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _flipped(data: bytes, rng: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(rng.choice((1, 2, 8, 64))):
        if found:
            found[rng.randrange(len(found))] = rng.randrange(256)
    return bytes(found)


def _binary(_: bytes, rng: random.Random) -> bytes:
    return rng.randbytes(rng.choice((0, 1, 7, 300, 70_000)))


def _deep(data: bytes, rng: random.Random) -> bytes:
    opened = rng.choice(DEEP) * rng.choices((60, 1500, 40_000, 300_000), (8, 8, 3, 1))[0]
    at = rng.randrange(len(data) + 1)
    return data[:at] + opened + data[at:]


def _huge(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    k = rng.randrange(len(lines))
    most = max(2, min(200_000, 4_000_000 // max(1, len(lines[k]))))
    times = rng.choices((3, 500, 5000, most), (6, 6, 6, 1))[0]
    return b"\n".join(lines[:k] + [lines[k]] * times + lines[k:])


def _long_line(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return (
        data[:at]
        + rng.choice((b"a", b"9", b" ", b"\\", b"\t", b"_")) * rng.choices((5_000, 3_000_000), (8, 1))[0]
        + data[at:]
    )


def _encoded(data: bytes, rng: random.Random) -> bytes:
    text = data.decode("latin-1")
    return text.encode(rng.choice(("utf-16", "utf-32", "utf-8", "utf-7", "cp037")), errors="replace")


def _odd(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(ODD) * rng.choice((1, 3)) + data[at + rng.choice((0, 1, 4)) :]


def _shuffled(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


def _spliced(data: bytes, rng: random.Random) -> bytes:
    other = rng.choice([reader.sample() for name, reader in READERS.items() if name in ("dot", "json", "c", "morpher")])
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other)) :]


def _numbers(data: bytes, rng: random.Random) -> bytes:
    digits = [k for k, byte in enumerate(data) if 48 <= byte < 58]
    if not digits:
        return data
    at = rng.choice(digits)
    value = rng.choice((b"-1", b"0", b"4294967296", b"99999999", b"1" * 400, b"1e400", b"0x7fffffffffffffffff", b"3.5"))
    return data[:at] + value + data[at + 1 :]


BREAKS = (
    _cut, _flipped, _flipped, _binary, _deep, _huge, _long_line, _encoded, _odd, _odd, _shuffled, _spliced, _numbers,
    _numbers,
)  # fmt: skip


# -- the child process ------------------------------------------------------------------------------------------------


def _cpu() -> float:
    """Seconds of processor time of this process and its children: machines that run tests have other things to do."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def judged(reader: Reader, path: Path) -> str | None:
    """What is wrong with the way in which a broken file was taken; None: it was read, or refused in words."""
    began = _cpu()
    try:
        reader.read(path)
    except GridloomError as error:
        if not str(error).strip() or "Traceback" in str(error):
            return f"a refusal without words: {error!r}"
    except (Exception, SystemExit, RecursionError, MemoryError) as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {where.filename}:{where.lineno}: {error}"[:300]
    seconds = _cpu() - began
    return f"took {seconds:.0f} s" if seconds > MAX_SECONDS else None


def run(name: str, first: int, count: int, folder: Path) -> None:
    """Break and read so many files; report those that were not taken as they have to be, and a last line with the sum.

    The limit on memory is one on data, since libraries reserve address space that they never touch.
    """
    reader = READERS[name]
    sample = reader.sample()
    path = folder / f"broken{reader.ending}"
    for ending, text in reader.beside.items():
        (folder / f"broken{ending}").write_text(text)
    path.write_bytes(sample)
    reader.read(path)
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_BYTES, MAX_BYTES))
    slowest = 0.0
    for k in range(first, first + count):
        path.unlink(missing_ok=True)
        path.write_bytes(broken(sample, random.Random(f"{name} {k}")))
        began = _cpu()
        wrong = judged(reader, path)
        slowest = max(slowest, _cpu() - began)
        if wrong is not None:
            sys.stdout.write(json.dumps({"file": k, "wrong": wrong}) + "\n")
            sys.stdout.flush()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(json.dumps({"done": count, "slowest": round(slowest, 2), "megabytes": round(peak)}) + "\n")


if __name__ == "__main__":
    assert sqlite3.sqlite_version
    run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
