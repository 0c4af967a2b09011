"""C sources on rows of 24-bit ALUs: every part confirmed, and the whole compared with the loop of the source."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from gridloom.cli import main
from gridloom.compiler.loops.spec import with_options
from gridloom.errors import SourceError
from gridloom.flow import Request, run
from gridloom.flow.inputs import prepare
from gridloom.flow.partition.flow import PartitionRequest, partition

pytestmark = [
    pytest.mark.tools,
    pytest.mark.skipif(
        importlib.util.find_spec("ziglang") is None or importlib.util.find_spec("llvmlite") is None,
        reason="the extra c is not installed",
    ),
]

EXAMPLES = Path(__file__).parents[3] / "examples"
#: Source below examples -> what is assumed of its values.
SOURCES = {
    "kernels/aes_column.c": (),
    "kernels/alpha_blend.c": (),
    "kernels/conv3x3.c": (),
    "kernels/sobel.c": (),
    "kernels/rgb_to_ycc.c": (),
    "kernels/gsm_ltp.c": ("*=-200..200",),
    "kernels/atax.c": ("*=-1000..1000",),
    "kernels/dct8.c": ("*=-512..511",),
    "kernels/dijkstra_relax.c": ("*=0..100000", "here=0..65535", "node=0..1000"),
    "kernels/fft_butterfly.c": ("*=-1000..1000",),
    "kernels/fir.c": ("*=-128..127", "x=-2048..2047"),
    "kernels/jpeg_fdct_row.c": ("block=-64..63",),
    "kernels/kmeans_distance.c": ("*=-512..511", "p=-512..511"),
    "kernels/large/chains.c": ("*=-1000..1000",),
    "kernels/large/conv4x4.c": ("*=-128..127",),
    "kernels/large/gemm16.c": ("*=-128..127",),
    "functions/autocorrelation.c:loop=2": ("shift=0..15",),
    "functions/median_filter.c": (),
    "functions/threshold.c:loop=0": (),
    "functions/gemm.c:loop=1": ("*=-1000..1000",),
    "functions/syrk.c:loop=1": ("*=-1000..1000",),
    "functions/levenshtein.c:loop=0": ("*=0..1000",),
    "functions/sieve.c:loop=0": ("*=0..1000",),
    "functions/atax.c:loop=3": ("*=-1000..1000",),
}
QUICK = ("kernels/alpha_blend.c", "kernels/sobel.c", "functions/levenshtein.c:loop=0")


def source(name: str) -> str:
    return with_options(str(EXAMPLES / name), ranges=SOURCES[name])


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in SOURCES]
)
def test_a_c_source_becomes_parts_that_compute_what_it_computes(name: str) -> None:
    result = partition(PartitionRequest(source=source(name), arch="vpcma", estimator="bound"))
    assert result.failure is None
    assert all(part.confirmed for part in result.parts)
    assert result.dfg.domain == "cma24"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kernels/rgb_to_ycc.c", "kernels/jpeg_fdct_row.c"])
def test_products_with_constants_are_mapped_where_the_alus_do_not_multiply(name: str) -> None:
    result = partition(PartitionRequest(source=source(name), arch="vpcma:multiplier=false", estimator="bound"))
    assert result.failure is None
    assert "mult" not in {node.op for node in result.dfg.nodes}


def test_map_takes_the_same_graph() -> None:
    text = source("kernels/alpha_blend.c")
    result = run(Request(source=text, arch="vpcma", effort=20_000))
    assert result.mapping is not None
    assert result.mapping.dfg == prepare(text, "vpcma").dfg


def test_a_value_that_does_not_fit_is_named_by_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(EXAMPLES / "kernels" / "dct8.c")
    for command in ("map", "estimate", "partition"):
        assert main([command, path, "--arch", "vpcma"]) == 2
        assert "input 'in' lies in -2147483648..2147483647" in capsys.readouterr().err
    assert main(["estimate", path, "--arch", "vpcma", "--assume-range", "*=-512..511", "--estimator", "bound"]) == 0


def test_an_assumed_range_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(EXAMPLES / "kernels" / "dct8.c")
    assert main(["estimate", path, "--arch", "vpcma", "--assume-range", "in=5..1"]) == 2
    assert "range.NAME=LOW..HIGH" in capsys.readouterr().err
    assert main(["estimate", path, "--arch", "vpcma", "--assume-range", "in"]) == 2
    assert "--assume-range: expected NAME=LOW..HIGH" in capsys.readouterr().err


def test_a_sum_over_the_loop_is_refused_with_an_array_that_takes_it() -> None:
    with pytest.raises(SourceError, match=r"value 'add28' is kept for later iterations; .* such as torus:4x4"):
        prepare(str(EXAMPLES / "kernels" / "sad4x4.c"), "vpcma")
