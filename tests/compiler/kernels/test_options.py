"""What a kernel says about parameters it does not take: exact texts."""

from __future__ import annotations

import re

import pytest

from gridloom.compiler.kernels import from_spec
from gridloom.compiler.kernels.kmeans import KMEANS
from gridloom.compiler.kernels.polybench import GEMM
from gridloom.compiler.kernels.signal import FIR
from gridloom.compiler.kernels.streams import STREAM_PAIR, VECTOR_ADD
from gridloom.compiler.kernels.transforms import IFFT
from gridloom.errors import OptionError

MESSAGES = [
    ("kmeans,q=3", "kernel 'kmeans' has no parameter 'q'; it takes k (2 to 32; default 4), n (1 to 32; default 4)"),
    (
        "kmeans,self=3",
        "kernel 'kmeans' has no parameter 'self'; it takes k (2 to 32; default 4), n (1 to 32; default 4)",
    ),
    ("stream_pair,n=3", "kernel 'stream_pair' has no parameter 'n'; it takes none"),
    ("kmeans,k=1", "kernel 'kmeans': k = 1 is not taken; expected a whole number, 2 to 32"),
    ("kmeans,k=four", "kernel 'kmeans': k = 'four' is not taken; expected a whole number, 2 to 32"),
    ("kmeans,k=4.0", "kernel 'kmeans': k = 4.0 is not taken; expected a whole number, 2 to 32"),
    ("kmeans,k=true", "kernel 'kmeans': k = True is not taken; expected a whole number, 2 to 32"),
    ("kmeans,k=²", "kernel 'kmeans': k = '²' is not taken; expected a whole number, 2 to 32"),
    ("fir,form=lattice", "kernel 'fir': form = 'lattice' is not taken; expected one of transposed, direct"),
    (
        "tree_reduce,nodes=14",
        "kernel 'tree_reduce': nodes = 14 is not taken; expected one of 3, 7, 15, 31, 63, 127, 255, 511, 1023, 2047",
    ),
    ("ifft,n=64,half=64", "kernel 'ifft': half = 64 needs n >= 128, found n = 64"),
    ("string_search,text=3", "kernel 'string_search': pattern = 4 is longer than text = 3; lengthen the text"),
    ("kmean,k=4", "no kernel is called 'kmean'; did you mean kmeans?"),
]


@pytest.mark.parametrize(("spec", "message"), MESSAGES, ids=[spec for spec, _ in MESSAGES])
def test_messages(spec: str, message: str) -> None:
    with pytest.raises(OptionError, match=f"^{re.escape(message)}"):
        from_spec(spec)


@pytest.mark.parametrize("value", [True, 4.0, None, [4], "four", "9" * 12, "-4", ""])
def test_values_that_are_not_whole_numbers_are_refused(value: object) -> None:
    message = f"kernel 'kmeans': k = {value!r} is not taken; expected a whole number, 2 to 32"
    with pytest.raises(OptionError, match=f"^{re.escape(message)}$"):
        KMEANS.build(k=value)


def test_more_iterations_than_an_array_holds_are_refused() -> None:
    message = "kernel 'gemm': asked for 65 iterations; expected 0 to 64, which is where its arrays end"
    with pytest.raises(OptionError, match=f"^{message}$"):
        GEMM.stimulus(65, n=4)
    with pytest.raises(OptionError, match=r"^kernel 'fir': asked for -1 iterations; expected 0 or more$"):
        FIR.stimulus(-1)


def test_a_spec_names_what_differs_from_the_defaults() -> None:
    assert KMEANS.spec() == "kmeans"
    assert KMEANS.build(k=4, n=5).name == "kmeans,n=5"
    kernel, settings = from_spec(" kmeans , k = 4 , n=5 ")
    assert kernel is KMEANS
    assert settings == {"k": 4, "n": 5}
    assert from_spec(FIR.spec(taps=3, form="direct"))[1] == {"taps": 3, "form": "direct"}


def test_kernels_have_defaults() -> None:
    assert VECTOR_ADD.settings() == {"lanes": 1}
    assert STREAM_PAIR.settings() == {}
    assert IFFT.settings(half="64") == {"n": 256, "half": 64}


def test_sources_build_the_same_graph() -> None:
    from gridloom.compiler.source import load_source

    assert load_source("kernel:kmeans,k=3,n=2") == KMEANS.build(k=3, n=2)
    with pytest.raises(OptionError, match=r"^kernel 'kmeans' has no parameter 'self'"):
        load_source("kernel:kmeans,self=2")
