"""NeoSA on a GPU: the same placements as on the processor, shown with the CUDA simulator; code for a real device."""

from __future__ import annotations

import os
import subprocess
import sys
import types

import pytest

from gridloom.errors import OptionError
from gridloom.targets.grid.mappers import neosa

COMPARE = """
import sys, warnings
import numpy as np
from tests.search.conftest import random_dag
from gridloom.archs.spec import build
from gridloom.search.annealing import logarithms
from gridloom.targets.grid.mappers.neosa import NeosaConfig, regions
from gridloom.targets.grid.mappers.place import neosa_gpu, neosa_kernel
from gridloom.targets.grid.mappers.problem import build_problem
from gridloom.targets.grid.mappers.search import StaticSearch

warnings.simplefilter("ignore", RuntimeWarning)  # words that wrap around, which is what they are for
neosa_gpu.THREADS = 2
equal = 0
for graph in range(int(sys.argv[1])):
    family = ("mesh", "onehop", "hex", "chess")[graph % 4]
    problem = build_problem(random_dag(4 + graph % 5, graph), build(f"{family}:4x4"))
    search, region = StaticSearch(problem, NeosaConfig(), {}), regions(problem.arch, border=graph % 3 == 0)
    schedule = neosa_kernel.NeosaSchedule(20.0, 0.05, 0.5 if graph % 2 else 0.95, graph % 2 == 0)
    seeds = np.array([graph, graph + 1000], dtype=np.uint64)
    begin = np.stack([search.scattered(np.random.default_rng(int(seed)), problem.allowed) for seed in seeds])
    on_gpu, stop = begin.copy(), np.zeros(1, dtype=np.uint8)
    steps = neosa_gpu.place_all(on_gpu, region, search.graph, search.grid, schedule, seeds, stop)
    for k, seed in enumerate(seeds):
        row = begin[k].copy()
        _, sweeps = neosa_kernel.neosa(row, region, search.graph, search.grid, schedule, logarithms(), int(seed), stop)
        assert sweeps == steps[k] and (row == on_gpu[k]).all(), (graph, seed)
        equal += 1
print(equal, "instances are equal")
"""


def simulated(graphs: int) -> str:
    """What the comparison of so many graphs prints under the CUDA simulator, in a process of its own."""
    pytest.importorskip("numba_cuda")
    run = subprocess.run(
        [sys.executable, "-c", COMPARE, str(graphs)],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_an_instance_ends_at_the_same_placement_on_both_devices():
    assert simulated(2) == "4 instances are equal\n"


@pytest.mark.slow
def test_twenty_graphs_are_placed_alike_on_both_devices():
    assert simulated(20) == "40 instances are equal\n"


PTX = """
from types import SimpleNamespace
from numba import cuda, types
from numba.cuda import dispatcher
from gridloom.targets.grid.mappers.place import neosa_gpu

dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(7, 5))
words, table = types.int32[::1], types.int32[:, ::1]
reals = types.float64[::1]
arguments = types.void(
    table, table, types.uint64[:, ::1], reals, types.int64[::1], words, words, words, words, words,
    types.boolean[:, ::1], types.int8[:, ::1], reals, reals, types.float64, types.float64, types.boolean,
)
code, _ = cuda.compile_ptx(neosa_gpu._instances(), arguments, cc=(7, 5))
print(".entry" in code)
"""


def test_the_kernel_compiles_to_device_code_where_the_compiler_is_installed():
    pytest.importorskip("numba_cuda")
    run = subprocess.run([sys.executable, "-c", PTX], capture_output=True, text=True, check=False)
    if run.returncode and ("nvrtc" in run.stderr or "nvvm" in run.stderr):
        pytest.skip("the CUDA compiler (nvrtc and nvvm) is not installed")
    assert run.stdout == "True\n", run.stderr


def test_a_device_that_is_not_there_is_refused_in_words(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba.cuda", types.SimpleNamespace(is_available=lambda: False))
    monkeypatch.setattr("numba.cuda", sys.modules["numba.cuda"], raising=False)
    assert not neosa.on_gpu("auto")
    with pytest.raises(OptionError, match="cannot be used: CUDA finds no GPU on this machine, or take device=cpu"):
        neosa.on_gpu("gpu")


def test_the_processor_needs_no_gpu_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba.cuda", None)
    monkeypatch.delattr("numba.cuda", raising=False)
    assert not neosa.on_gpu("cpu")
    assert not neosa.on_gpu("auto")
    with pytest.raises(OptionError, match=r"numba-cuda is not installed; pip install '.\[gpu\]'"):
        neosa.on_gpu("gpu")
