"""Python kernels: the graph computes what the function computes when Python runs it."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import gridloom as gl
from gridloom import Array, float32, int8, int16, int32, loop, maximum, minimum, select, state, uint8
from gridloom.compiler.python.computing import bits_of
from gridloom.compiler.python.kernel import PythonKernel
from gridloom.compiler.python.numbers import ArrayType
from gridloom.compiler.source import load_source
from gridloom.dfg import Dfg
from gridloom.dfg.interpreter import Interpreter, Stimulus
from gridloom.dfg.recurrence import recurrence_mii
from gridloom.errors import GridloomError, OptionError, SourceError

_DTYPES = {"int8": "i1", "int16": "i2", "int32": "i4", "uint8": "u1", "uint16": "u2", "float32": "f4"}


def random_argument(kind, rng: np.random.Generator):
    element = kind.element if isinstance(kind, ArrayType) else kind
    count = kind.length if isinstance(kind, ArrayType) else 1
    if element.is_float:
        data = rng.normal(0, 10, count).astype("f4")
    else:
        low, high = element.range
        data = rng.integers(low, high + 1, count).astype(_DTYPES[element.name])
    return data if isinstance(kind, ArrayType) else data[0]


def words(data) -> np.ndarray:
    array = np.atleast_1d(data)
    return array.view("i4").astype(np.int64) if array.dtype.kind == "f" else array.astype(np.int64)


def run_both(kernel: PythonKernel, iterations: int, seed: int = 0, **given) -> Dfg:
    """Run the function and its graph on the same data and compare memory and results; returns the graph."""
    rng = np.random.default_rng(seed)
    arguments = {name: given.get(name, random_argument(kind, rng)) for name, kind in kernel.parameters.items()}
    graph = kernel.graph()
    arrays = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
    memory = {name: words(value) for name, value in arrays.items()}
    scalars = {name: int(words(value)[0]) for name, value in arguments.items() if name not in arrays}
    stimulus = Stimulus(iterations=iterations, memory=memory, liveins=kernel.start(scalars, memory))
    seen = Interpreter(graph).run(stimulus)
    with np.errstate(all="ignore"):
        result = kernel(**arguments)
    for name, value in arrays.items():
        np.testing.assert_array_equal(seen.memory[name], words(value), err_msg=name)
    if result is not None and iterations:
        rows = result if isinstance(result, tuple) else (result,)
        expected = [bits_of(value) if isinstance(value, float) else value for value in rows]
        names = [f"result_{k}" for k in range(len(rows))] if isinstance(result, tuple) else ["result"]
        assert [seen.liveouts[name] for name in names] == expected
    return graph


@gl.kernel
def fir(x: Array[int16, 128], c: Array[int16, 4], y: Array[int16, 128], n: int32):
    """A filter of four taps."""
    for i in loop(n):
        total = 0
        for k in range(4):
            total = total + c[k] * x[i + k]
        y[i] = total >> 15


@gl.kernel
def dot(a: Array[float32, 64], b: Array[float32, 64], start: float32, n: int32):
    total = state(start)
    greater = state(0)
    for i in loop(n):
        total += a[i] * b[i]
        greater.set(select(a[i] > b[i], greater + 1, greater))
    return total, greater


@gl.kernel
def arithmetic(a: Array[int32, 64], b: Array[int8, 64], out: Array[int32, 64], p: int16, n: int32):
    for i in loop(n):
        x, y = a[i], b[i]
        d = (y & 15) + 1
        mixed = (x // d) ^ (x % d) ^ (x // -7) ^ abs(y) ^ -x ^ ~y
        mixed = mixed + minimum(x, y * p) - maximum(x >> 3, y << 2) + int8(x) + uint8(y)
        out[i] = mixed * ((x == y) + (x != y) * 2 + (x < y) * 4 + (x >= p) * 8)


@gl.kernel
def scan(x: Array[int32, 64], n: int32):
    for i in loop(1, n):
        x[i] = x[i - 1] + x[i]


@gl.kernel
def threshold(x: Array[int16, 64], y: Array[uint8, 64], limit: int32, n: int32):
    hits = state(0)
    for i in loop(n):
        over = x[i] > limit
        y.put(i, x[i] - limit, when=over)
        hits += over
    return hits


@gl.kernel
def delays(x: Array[int32, 64], y: Array[int32, 64], n: int32):
    one, two = state(5), state(7)
    for i in loop(n):
        y[i] = x[i] - two
        two.set(one)
        one.set(x[i])


@gl.kernel
def gather(x: Array[uint8, 64], table: Array[int32, 256], n: int32):
    for i in loop(n):
        table[x[i]] = table[x[i]] + 1


@gl.kernel
def strided(x: Array[int32, 64], start: int32, n: int32):
    for i in loop(start, n, 3):
        x[i] = x[i] * start + i


@pytest.mark.parametrize(
    ("kernel", "given", "iterations"),
    [
        (fir, {"n": 100}, 100),
        (dot, {"n": 64}, 64),
        (arithmetic, {"n": 64}, 64),
        (scan, {"n": 64}, 63),
        (threshold, {"n": 64}, 64),
        (delays, {"n": 64}, 64),
        (gather, {"n": 64}, 64),
        (strided, {"start": 4, "n": 64}, 20),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_graph_equals_the_function_run_by_python(kernel, given, iterations):
    for seed in range(3):
        run_both(kernel, iterations, seed, **given)


def test_the_function_still_runs_as_python():
    x, y = np.arange(8, dtype="i2"), np.zeros(8, "i2")
    fir(x, np.array([1 << 14, 0, 0, 0], "i2"), y, 5)
    assert y.tolist() == [0, 0, 1, 1, 2, 0, 0, 0]
    assert fir.__doc__ == "A filter of four taps."


def test_states_that_wait_for_each_other_are_one_edge_with_a_distance():
    assert sorted({edge.distance for edge in delays.graph().edges}) == [0, 1, 2]


@gl.kernel
def updates(x: gl.Array[gl.int32], y: gl.Array[gl.int32], n: gl.int32) -> None:
    """Every operator with = changes the state."""
    s = gl.state(5)
    for i in gl.loop(n):
        s |= x[i]
        s &= 0x7FFF
        s <<= 2
        s >>= 1
        s //= x[i] & 3
        s %= 1000
        y[i] = s


def test_every_operator_with_an_equals_sign_changes_the_state():
    x, y = np.arange(40, dtype="i4") * 7 - 90, np.zeros(40, "i4")
    graph = updates.graph()
    ran = Interpreter(graph).run(Stimulus(iterations=40, memory={"x": words(x), "y": words(y)}))
    updates(x, y, 40)
    np.testing.assert_array_equal(ran.memory["y"], y)
    assert len(set(y.tolist())) > 3


def test_places_that_move_alike_keep_one_exact_order():
    orders = [edge for edge in scan.graph().edges if edge.kind == "order"]
    assert [(e.source, e.target, e.distance) for e in orders] == [
        ("store_x", "load_x", 1),
        ("load_x_2", "store_x", 0),
    ]
    assert recurrence_mii(fir.graph()) == 1


def test_a_kernel_maps_onto_a_static_array_as_streams():
    result = gl.map(fir.graph(memory="streams"), "mesh:6x6", seed=1, effort=200_000)
    assert result.status == "mapped"
    assert (result.verified.legal, result.verified.simulated) == (True, True)


def test_unrolled_graph_computes_the_same():
    rng = np.random.default_rng(1)
    memory = {name: words(random_argument(kind, rng)) for name, kind in fir.parameters.items() if name != "n"}
    liveins = fir.start({}, memory)
    once = Interpreter(fir.graph()).run(Stimulus(iterations=60, memory=memory, liveins=liveins))
    twice = Interpreter(fir.graph(unroll=3)).run(Stimulus(iterations=20, memory=memory, liveins=liveins))
    np.testing.assert_array_equal(once.memory["y"], twice.memory["y"])


def test_gl_kernel_with_a_name_is_a_built_in_graph():
    assert gl.kernel("fir", taps=2).name == "fir,taps=2"


# -- what cannot be traced ------------------------------------------------------------------------------------------


def branches(x: Array[int32], n: int32):
    for i in loop(n):
        if x[i] > 0:
            x[i] = 0


def no_loop(x: Array[int32], n: int32):
    return n + 1


def two_loops(x: Array[int32], n: int32):
    for i in loop(n):
        x[i] = 0
    for i in loop(n):
        x[i] = 1


def leaves(x: Array[int32], n: int32):
    for i in loop(n):
        x[i] = 0
        break


def after(x: Array[int32], n: int32):
    total = state(0)
    for i in loop(n):
        total += x[i]
    return total + 1


def python_list(x: Array[int32], n: int32):
    for i in loop(n):
        x[i] = [1, 2, 3][x[i] & 1]


def untyped(x, n: int32):
    for i in loop(n):
        x[i] = 0


def outside(x: Array[int32, 4], n: int32):
    for _ in loop(n):
        x[4] = 0


def float_store(x: Array[int32, 4], y: Array[float32], n: int32):
    for i in loop(n):
        x[i] = y[i]


def divides(x: Array[int32], n: int32):
    for i in loop(n):
        x[i] = x[i] / 2


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (branches, "branches on a value of the loop; use gridloom.select, or store with when="),
        (no_loop, "has no gridloom.loop"),
        (two_loops, "has more than one gridloom.loop; unroll inner ones with Python's range"),
        (leaves, "leaves its loop by break or return; run all iterations"),
        (after, "computes after its loop; return the loop's values and compute outside the kernel"),
        (python_list, "needs a number that is known while tracing; use gridloom.loop, or an Array parameter"),
        (
            untyped,
            "parameter 'x' has no kernel type; expected int8, int16, int32, uint8, uint16, float32 or "
            "Array[type, length]",
        ),
        (outside, "uses x[4]; it has 4 elements"),
        (float_store, "stores a float in x, an array of int32; cast it with gridloom.int32"),
        (divides, "divides integers with /; use // for whole numbers, or gridloom.float32(x) / y"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_cannot_be_traced_is_refused_with_file_and_line(function, message):
    with pytest.raises(SourceError) as caught:
        gl.kernel(function).graph()
    assert caught.value.message == message
    assert caught.value.where.startswith(f"{__file__}:")
    assert caught.value.where.endswith(f"kernel {function.__name__!r}")


FILE = """
import gridloom as gl

@gl.kernel
def scale(x: gl.Array[gl.int32], by: gl.int32, n: gl.int32):
    for i in gl.loop(n):
        x[i] = x[i] * by

@gl.kernel
def clear(x: gl.Array[gl.int32], n: gl.int32):
    for i in gl.loop(n):
        x[i] = 0
"""


def test_source_names_a_kernel_of_a_file(tmp_path: Path):
    file = tmp_path / "two.py"
    file.write_text(FILE)
    assert load_source(f"{file}:scale").name == "scale"
    assert [node.op for node in load_source(f"{file}:scale,memory=streams").nodes] == [
        "livein",
        "input",
        "mul",
        "output",
    ]
    assert load_source(f"{file}:scale,size.x=7").arrays[0].length == 7
    with pytest.raises(SourceError, match=r"has 2 kernels; functions decorated with @gridloom.kernel: scale, clear"):
        load_source(str(file))
    with pytest.raises(SourceError, match=r"has no kernel 'scael'; functions decorated"):
        load_source(f"{file}:scael")
    with pytest.raises(
        OptionError, match=r"found 'size.y=z'; expected unroll=1..64.auto, reduced=true.false, memory=arrays"
    ):
        load_source(f"{file}:scale,size.y=z")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(:\n", "bad.py:1: is not Python: invalid syntax"),
        ("x = 1\n1 / 0\n", "bad.py:2: cannot be imported: ZeroDivisionError: division by zero"),
        ("", "bad.py: has 0 kernels; functions decorated with @gridloom.kernel: none"),
    ],
)
def test_files_that_are_no_kernels_are_refused(tmp_path: Path, text: str, message: str):
    file = tmp_path / "bad.py"
    file.write_text(text)
    with pytest.raises(GridloomError) as caught:
        load_source(str(file))
    assert str(caught.value) == f"{tmp_path}/{message}"


# -- generated kernels ----------------------------------------------------------------------------------------------


class Writer:
    """Writes a random kernel from a seed: expressions, states, selects, stores."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.ints = ["p", "i", "s", "t"]

    def integer(self, depth: int) -> str:
        choose = self.random.randrange
        if depth == 0 or choose(5) == 0:
            return self.random.choice([*self.ints, str(choose(-99, 99)), f"a[{self.index()}]", f"b[{self.index()}]"])
        kind, x, y = choose(11), self.integer(depth - 1), self.integer(depth - 1)
        if kind < 4:
            return f"({x} {self.random.choice('+-*&|^')} {y})"
        forms = [
            f"select({self.condition(depth - 1)}, {x}, {y})", f"({x} {self.random.choice(['<<', '>>'])} {choose(31)})",
            f"minimum({x}, {y})", f"abs({x})", f"({x} {self.random.choice(['//', '%'])} {choose(2, 40)})",
            f"{self.random.choice(['int8', 'int16', 'uint8', 'uint16'])}({x})", f"({self.condition(depth - 1)} * {y})",
        ]  # fmt: skip
        return forms[kind - 4]

    def single(self, depth: int) -> str:
        if depth == 0:
            return self.random.choice(["f", f"d[{self.index()}]", "1.25", f"float32({self.integer(1)})"])
        return f"({self.single(depth - 1)} {self.random.choice('+-*')} {self.single(depth - 1)})"

    def condition(self, depth: int) -> str:
        make = self.single if self.random.randrange(3) == 0 else self.integer
        return f"({make(depth)} {self.random.choice(['<', '<=', '>', '>=', '==', '!='])} {make(depth)})"

    def index(self) -> str:
        kinds = ["i", f"i + {self.random.randrange(8)}", "31 - i", "(s & 31)", str(self.random.randrange(40))]
        return self.random.choice(kinds)

    def statement(self) -> str:
        kind = self.random.randrange(6)
        if kind < 2:
            return f"{self.random.choice('st')}.set({self.integer(3)})"
        if kind == 2:
            return f"f.set(f * 0.5 + {self.single(1)} * 0.001)"
        if kind == 3:
            return f"{self.random.choice('ab')}[{self.index()}] = {self.integer(3)}"
        if kind == 4:
            return f"{self.random.choice('ab')}.put({self.index()}, {self.integer(2)}, when={self.condition(1)})"
        return f"d[{self.index()}] = {self.single(2)} * 0.01"

    def function(self) -> str:
        start = self.random.choice(["0", "p", "-3"])
        body = "\n".join(f"        {self.statement()}" for _ in range(self.random.randrange(2, 7)))
        return (
            "def generated(a: Array[int32, 40], b: Array[int16, 40], d: Array[float32, 40], p: int32, n: int32):\n"
            f"    s, t, f = state({start}), state(1), state(0.5)\n    for i in loop(n):\n{body}\n    return s, t, f\n"
        )


def check_generated(seed: int) -> None:
    names = {"Array": Array, "abs": abs, "uint16": gl.uint16}
    names |= {n: getattr(gl, n) for n in ("int8", "int16", "int32", "uint8", "float32", "loop", "select", "state")}
    names |= {"minimum": minimum}
    text = Writer(seed).function()
    exec(compile(text, f"<generated {seed}>", "exec"), names)
    try:
        run_both(gl.kernel(names["generated"]), 32, seed, n=32)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}:\n{text}\n{error}") from None


def test_25_generated_kernels():
    for seed in range(25):
        check_generated(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1500, 100))
def test_500_generated_kernels(start: int):
    for seed in range(start, start + 100):
        check_generated(seed)


def test_loop_with_too_many_pairs_of_accesses_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridloom.compiler.loops.body.MAX_ORDERS", 10)

    @gl.kernel
    def stores(x: Array[int32, 64], n: int32):
        for i in loop(n):
            for _ in range(6):
                x[i] = x[i] + 1

    with pytest.raises(SourceError, match="has more than 10 pairs of accesses to the same memory that have to stay in"):
        gl.load(stores)
