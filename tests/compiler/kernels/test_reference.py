"""Every kernel's graph, run by the interpreter, shows what its model expects."""

from __future__ import annotations

import numpy as np
import pytest

from gridloom import registry
from gridloom.compiler.kernels import Kernel, result_streams
from gridloom.dfg.interpreter import interpret

#: Parameter sets of each kernel; one without a row here is run with its defaults.
CASES: dict[str, list[dict[str, object]]] = {
    "vector_add": [{}, {"lanes": 5}],
    "axpy": [{}, {"domain": "f32"}],
    "distance": [{}, {"dims": 1}, {"dims": 7}],
    "dot_product": [{}, {"lanes": 3}],
    "mul_add": [{}, {"fused": 1}],
    "tree_reduce": [{}, {"nodes": 3, "components": 3}, {"nodes": 31, "leaves": "mul"}],
    "tree_expand": [{}, {"nodes": 3, "components": 2}, {"nodes": 31, "leaves": "mul"}],
    "map_reduce": [{}, {"tail": 1}, {"nodes": 7, "components": 4, "tail": 6}],
    "matmul": [{}, {"n": 3}, {"n": 4}],
    "matmul_add": [{}, {"n": 3}, {"n": 4}],
    "systolic_matmul": [{}, {"n": 2}, {"n": 6}],
    "convolution": [{}, {"k": 2}, {"k": 5}, {"k": 5, "registers": 1}],
    "kmeans": [{"k": k, "n": n} for k, n in ((2, 1), (3, 2), (4, 4), (5, 3), (6, 5), (7, 4), (8, 7), (11, 2))],
    "fir": [{}, {"taps": 1}, {"taps": 5, "form": "direct"}, {"taps": 80}],
    "iir": [{}, {"order": 2}],
    "moving_average": [{}, {"window": 1}, {"window": 9}],
    "ifft": [{}, {"n": 1024, "half": 256}],
    "ifft_two_loop": [{}, {"half": 1}, {"half": 16}],
    "horner_bezier": [{}, {"degree": 1, "dimensions": 1}, {"degree": 5, "dimensions": 3}],
    "alpha_blend": [{}, {"channels": 1}],
    "md5_step": [{"steps": s, "round": r, "state": w} for s, r, w in (
        (4, 1, "stream"), (1, 2, "stream"), (1, 1, "carried"), (3, 4, "carried"), (4, 3, "carried"), (5, 2, "carried"),
    )],
    "sha1_step": [{"steps": s, "round": r, "state": w} for s, r, w in (
        (1, 1, "stream"), (2, 3, "stream"), (3, 3, "stream"), (7, 2, "stream"), (1, 1, "carried"), (2, 3, "carried"),
        (3, 2, "carried"), (6, 4, "carried"),
    )],
    "crc32": [{}, {"form": "select"}],
    "bitcount": [{}, {"words": 3}],
    "isqrt": [{}, {"words": 5}],
    "string_search": [{}, {"pattern": 1}, {"text": 90, "pattern": 2}, {"text": 200, "pattern": 3}],
    "gsm_ltp": [{}, {"window": 4, "lags": 30}, {"window": 1, "lags": 70}],
    "gemm": [{}, {"n": 4}, {"n": 5}],
    "syrk": [{}, {"n": 4}, {"n": 5}],
    "atax": [{}, {"n": 9}],
    "bicg": [{}, {"n": 9}],
    "mvt": [{}, {"n": 9}],
    "jacobi": [{}, {"n": 64}, {"n": 11, "dims": 2}, {"n": 3, "dims": 2}],
    "random_layered": [{}, {"layers": 6, "width": 5, "seed": 3}, {"seed": 2, "domain": "opaque"}],
    "random_growing": [{}, {"nodes": 60, "inputs": 1, "seed": 3}, {"seed": 4, "domain": "opaque"}],
    "random_series_parallel": [{}, {"nodes": 1}, {"nodes": 70, "seed": 3}, {"seed": 4, "domain": "opaque"}],
}  # fmt: skip

RUNS = [(name, case) for name in registry.names("kernels") for case in CASES.get(name, [{}])]


def _iterations(kernel: Kernel, case: dict[str, object], wanted: int) -> int:
    return min(wanted, kernel.limit(**kernel.settings(**case))) if kernel.limit else wanted


@pytest.mark.parametrize(("name", "case"), RUNS, ids=[f"{n}-{'-'.join(map(str, c.values()))}" for n, c in RUNS])
def test_interpreter_agrees_with_the_model(name: str, case: dict[str, object]) -> None:
    kernel: Kernel = registry.load("kernels", name)
    dfg = kernel.build(**case)
    for seed, wanted in ((1, 64), (2, 97)):
        stimulus = kernel.stimulus(_iterations(kernel, case, wanted), seed, **case)
        observed, expected = interpret(dfg, stimulus), kernel.reference(stimulus, **case)
        streams = result_streams(dfg, observed)
        assert streams.keys() == expected.streams.keys()
        for node, words in expected.streams.items():
            np.testing.assert_array_equal(streams[node], words, err_msg=node)
        assert observed.memory.keys() == expected.memory.keys()
        for array, words in expected.memory.items():
            np.testing.assert_array_equal(observed.memory[array], words, err_msg=array)
        assert observed.liveouts == expected.liveouts


@pytest.mark.parametrize("name", [n for n in registry.names("kernels") if not n.startswith("neosa-")])
def test_results_depend_on_the_stimulus(name: str) -> None:
    """A model that returned fixed numbers would agree with a graph that computes nothing."""
    kernel: Kernel = registry.load("kernels", name)
    shown = []
    for seed in (1, 2):
        stimulus = kernel.stimulus(_iterations(kernel, {}, 97), seed)
        expected = kernel.reference(stimulus)
        shown.append([words.tolist() for words in (*expected.streams.values(), *expected.memory.values())])
    assert shown[0] != shown[1]


def test_every_row_of_cases_is_a_kernel() -> None:
    assert CASES.keys() <= set(registry.names("kernels"))


@pytest.mark.parametrize("name", registry.names("kernels"))
def test_no_iteration_gives_empty_streams(name: str) -> None:
    kernel: Kernel = registry.load("kernels", name)
    stimulus = kernel.stimulus(0)
    expected = kernel.reference(stimulus)
    observed = interpret(kernel.build(), stimulus)
    assert all(len(words) == 0 for words in expected.streams.values())
    assert observed.liveouts == expected.liveouts == {}


def test_a_seed_gives_the_same_stimulus() -> None:
    kernel: Kernel = registry.load("kernels", "kmeans")
    first, second = kernel.stimulus(16, 7), kernel.stimulus(16, 7)
    other = kernel.stimulus(16, 8)
    assert {k: v.tolist() for k, v in first.streams.items()} == {k: v.tolist() for k, v in second.streams.items()}
    assert {k: v.tolist() for k, v in first.streams.items()} != {k: v.tolist() for k, v in other.streams.items()}
