"""Generated Python kernels of wider kinds: narrow types, shift registers, steps, counts of 0 and 1, unrolling."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.compiler.python.test_kernel import random_argument, words

import gridloom as gl
from gridloom.compiler.python.computing import bits_of
from gridloom.compiler.python.kernel import PythonKernel
from gridloom.dfg.interpreter import Interpreter, Stimulus
from gridloom.errors import SourceError

LENGTH = 64
_NAMES = (
    "Array", "float32", "int16", "int32", "int8", "loop", "maximum", "minimum", "select", "state", "uint16", "uint8",
)  # fmt: skip
_ARRAYS = {"a": "int32", "h": "int16", "k": "uint16", "c": "int8", "b": "uint8"}


class KernelWriter:
    """Writes a random kernel from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.locals = ["i", "p", "sh", "by", "s", "t", "o1", "o2", "o3"]

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def index(self, depth: int = 2) -> str:
        number = self.random.randrange
        if number(8) == 0:
            return f"{self.integer(depth - 1)} & {LENGTH - 1}"
        return self.pick(
            "i", "i", f"i + {number(1, 16)}", f"{LENGTH - 1} - i", "i // 2", str(number(LENGTH)),
            f"(i * {number(2, 9)}) & {LENGTH - 1}", f"(p + i) & {LENGTH - 1}",
        )  # fmt: skip

    def integer(self, depth: int) -> str:
        number = self.random.randrange
        if depth <= 0 or number(6) == 0:
            return self.pick(*self.locals, str(number(-9, 100)), str(number(-(1 << 31), 1 << 31)))
        if number(4) == 0:
            return f"{self.pick(*_ARRAYS)}[{self.index(depth)}]"
        a, b = self.integer(depth - 1), self.integer(depth - 1)
        if number(5) == 0:
            condition = self.condition(depth - 1)
            return self.pick(f"select({condition}, {a}, {b})", f"({condition} + {b})")
        return self.pick(
            f"({a} {self.pick('+', '-', '*')} {b})", f"({a} {self.pick('&', '|', '^')} {b})",
            f"({a} {self.pick('<<', '>>')} ({b} & 31))", f"({a} {self.pick('//', '%')} {number(1, 50)})",
            f"({a} {self.pick('//', '%')} (({b} & 15) + 1))", f"{self.pick('minimum', 'maximum')}({a}, {b})",
            f"{self.pick('int8', 'uint8', 'int16', 'uint16')}({a})", f"abs({a})", f"(-{a})", f"(~{a})",
            f"({number(100)} - {a})",
        )  # fmt: skip

    def single(self, depth: int) -> str:
        kind = self.random.randrange(10)
        if depth <= 0 or kind < 2:
            return self.pick("f", "fl", "1.25", "-0.5")
        if kind == 2:
            return f"d[{self.index(depth)}]"
        if kind == 3:
            return f"float32({self.integer(depth - 1)})"
        a, b = self.single(depth - 1), self.single(depth - 1)
        if kind == 4:
            return f"select({self.condition(depth - 1)}, {a}, {b})"
        if kind == 5:
            return f"{self.pick('minimum', 'maximum')}({a}, {b})"
        return f"({a} {self.pick('+', '-', '*')} {b})"

    def condition(self, depth: int) -> str:
        make = self.single if self.random.randrange(4) == 0 else self.integer
        compare = f"({make(depth)} {self.pick('<', '<=', '>', '>=', '==', '!=')} {make(depth)})"
        if depth > 0 and self.random.randrange(4) == 0:
            return f"({compare} {self.pick('&', '|', '^')} {self.condition(depth - 1)})"
        return compare

    def statement(self) -> str:
        kind = self.random.randrange(10)
        if kind < 2:
            return f"{self.pick('s', 't')}.set({self.integer(3)})"
        if kind == 2:
            return f"o3.set(o2); o2.set(o1); o1.set({self.integer(2)})"
        if kind == 3:
            return f"f.set(f * 0.5 + {self.single(2)} * 0.001)"
        if kind < 6:
            return f"{self.pick(*_ARRAYS)}[{self.index()}] = {self.integer(3)}"
        if kind == 6:
            return f"{self.pick(*_ARRAYS)}.put({self.index()}, {self.integer(2)}, when={self.condition(2)})"
        if kind == 7:
            return f"d[{self.index()}] = {self.single(2)} * 0.01"
        if kind == 8:
            name = f"v{len(self.locals)}"
            text = f"{name} = {self.integer(3)}"
            self.locals.append(name)
            return text
        return f"{self.pick('s', 't')} {self.pick('+=', '-=', '^=')} {self.integer(2)}"

    def function(self) -> str:
        starts = [self.pick("0", "p", "-3", "sh", "by") for _ in range(3)]
        head = self.pick("loop(n)", "loop(n)", "loop(1, n)", "loop(0, n, 3)", "loop(n, 0, -1)", "loop(sh & 7, n)")
        kinds = _ARRAYS | {"d": "float32"}
        parameters = [f"{name}: Array[{kind}, {LENGTH}]" for name, kind in kinds.items()]
        parameters += ["p: int32", "sh: int16", "by: uint8", "fl: float32", "n: int32"]
        body = [f"        {self.statement()}" for _ in range(self.random.randrange(2, 9))]
        return "\n".join(
            [
                f"def generated({', '.join(parameters)}):",
                f"    s, t, f = state({starts[0]}), state({starts[1]}), state(0.5)",
                f"    o1, o2, o3 = state({starts[2]}), state(1), state(2)",
                f"    for i in {head}:",
                *body,
                "    return s, t, f, o3",
                "",
            ]
        )


def generated(seed: int) -> tuple[PythonKernel, str]:
    text = KernelWriter(seed).function()
    names = {name: getattr(gl, name) for name in _NAMES} | {"abs": abs}
    exec(compile(text, f"<generated {seed}>", "exec"), names)
    return gl.kernel(names["generated"]), text


def check(seed: int, unroll: int = 1) -> bool:
    """Compare the function and its graph on random data; False where the graph runs no whole number of iterations."""
    kernel, text = generated(seed)
    rng = np.random.default_rng(seed)
    arguments = {name: random_argument(kind, rng) for name, kind in kernel.parameters.items()}
    arguments["n"] = np.int32(rng.integers(0, 3) if seed % 4 == 0 else rng.integers(3, 33))
    iterations = count(kernel, text, arguments)
    if iterations % unroll:
        return False
    graph = kernel.graph(unroll=unroll)
    arrays = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
    memory = {name: words(value) for name, value in arrays.items()}
    scalars = {name: int(words(value)[0]) for name, value in arguments.items() if name not in arrays}
    stimulus = Stimulus(iterations=iterations // unroll, memory=memory, liveins=kernel.start(scalars, memory))
    seen = Interpreter(graph).run(stimulus)
    with np.errstate(all="ignore"):
        result = kernel(**arguments)
    for name, value in arrays.items():
        np.testing.assert_array_equal(seen.memory[name], words(value), err_msg=f"seed {seed}: {name}\n{text}")
    if iterations:
        expected = [bits_of(value) if isinstance(value, float) else value for value in result]
        found = [seen.liveouts[f"result_{k}"] for k in range(len(expected))]
        assert found == expected, f"seed {seed}\n{text}"
    return True


def count(kernel: PythonKernel, text: str, arguments: dict) -> int:
    """How often the loop runs, from its head."""
    head = text.split("for i in loop(", 1)[1].split("):", 1)[0]
    names = {"n": int(arguments["n"]), "sh": int(arguments["sh"])}
    return len(range(*eval(f"({head},)", names)))


def test_30_generated_kernels():
    for seed in range(30):
        check(seed)


def test_generated_kernels_unrolled():
    assert sum(check(seed, unroll=2) for seed in range(100, 112)) >= 4


def test_generated_kernels_on_the_array_compute_what_their_graphs_do():
    mapped = 0
    for seed in range(200, 206):
        graph = generated(seed)[0].graph()
        if len(graph.nodes) <= 50:
            result = gl.map(graph, "torus:4x4", seed=1, time_limit=2)
            assert result.refused is None, f"seed {seed}"
            mapped += result.status == "mapped"
    assert mapped >= 1


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1500, 100))
def test_500_generated_kernels(start: int):
    for seed in range(start, start + 100):
        check(seed)


@pytest.mark.slow
def test_200_generated_kernels_unrolled():
    assert sum(check(seed, unroll=3) for seed in range(2000, 2200)) >= 50


@pytest.mark.slow
def test_generated_kernels_as_streams():
    """A kernel that is no stream says so; one that is computes the same from its streams."""
    streams = 0
    for seed in range(3000, 3200):
        try:
            graph = generated(seed)[0].graph(memory="streams")
        except SourceError:
            continue
        streams += any(node.op == "input" for node in graph.nodes)
    assert streams >= 1
