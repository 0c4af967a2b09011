"""Filters: FIR and IIR on streams, in integer or fixed-point arithmetic.

Taps are small odd numbers (see :func:`~gridloom.compiler.kernels.reference.weight`). The feedback of the IIR filter
makes a recurrence that bounds the II from below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gridloom.compiler.kernels.base import Kernel, KernelValues
from gridloom.compiler.kernels.building import Past, connect, previous, reduce_tree
from gridloom.compiler.kernels.reference import past, signed32, weight
from gridloom.compiler.parameters import choice, number
from gridloom.dfg.model import DfgBuilder

if TYPE_CHECKING:
    from gridloom.dfg.interpreter import Stimulus


_TAPS_AND_FORM = {
    "taps": number(8, 1, 256, "coefficients"),
    "form": choice("transposed", ("transposed", "direct"), "sums wait for taps, or samples wait in delay lines"),
}


def _fir(b: DfgBuilder, taps: int, form: str) -> None:
    """The transposed form adds each tap to a delayed partial sum; the direct form delays samples and adds a tree.

    Both have the same products. The transposed form has edges of distance 1 only, the direct form up to ``taps - 1``,
    which is harder on arrays without delay lines.
    """
    x = b.input("x")
    if form == "direct":
        delayed = [x if k == 0 else Past(x, k, (0,) * k) for k in range(taps)]
        b.output(reduce_tree(b, "add", [connect(b, "mul", delayed[k], weight(k)) for k in range(taps)]), "y")
        return
    total: str | None = None
    for k in reversed(range(taps)):
        product = connect(b, "mul", x, weight(k))
        # A partial sum waits one iteration for the next tap, which is all the memory that the filter needs.
        total = product if total is None else connect(b, "add", product, previous(total))
    b.output(str(total), "y")


def _fir_model(stimulus: Stimulus, taps: int, form: str) -> KernelValues:
    """The convolution of the stream with the taps, cut to its length."""
    x = stimulus.streams["x"]
    y = np.convolve(x, np.array([weight(k) for k in range(taps)], dtype=np.int64))[: len(x)] if len(x) else x
    return KernelValues(streams={"y": signed32(y)})


FIR = Kernel("fir", "finite impulse response filter with fixed taps", _fir, _fir_model, _TAPS_AND_FORM)

#: Feedback coefficients in sixteenths; small enough for the filter to be stable.
FEEDBACK = (9, -5)


def _iir(b: DfgBuilder, order: int) -> None:
    """The scaled input plus the fed-back results, divided by 16."""
    scaled = connect(b, "mul", b.input("x"), 3)
    total = scaled
    for k in range(order):
        fed_back = connect(b, "mul", Past("y_now", k + 1, (0,) * (k + 1)), FEEDBACK[k])
        total = b.add("add", total, fed_back)
    connect(b, "shr", total, 4, id="y_now")
    b.output("y_now", "y")


def _iir_model(stimulus: Stimulus, order: int) -> KernelValues:
    """The recurrence on Python integers, sample by sample."""
    before = [0] * order
    results = []
    for x in stimulus.streams["x"].tolist():
        fed_back = sum(FEEDBACK[k] * before[k] for k in range(order))
        results.append(signed32(3 * x + fed_back) >> 4)
        before = [results[-1], *before[:-1]]
    return KernelValues(streams={"y": np.array(results, dtype=np.int64)})


IIR = Kernel(
    "iir",
    "infinite impulse response filter: the result is fed back from one or two iterations ago",
    _iir,
    _iir_model,
    {"order": choice(1, (1, 2), "greatest distance of the feedback")},
)


_WINDOW = {"window": number(4, 1, 64, "samples")}


def _moving_average(b: DfgBuilder, window: int) -> None:
    """A running sum gains the newest sample and loses the one that leaves the window."""
    x = b.input("x")
    change = connect(b, "sub", x, Past(x, window, (0,) * window))
    connect(b, "add", change, previous("sum"), id="sum")
    b.output(connect(b, "div", "sum", window), "y")


def _moving_average_model(stimulus: Stimulus, window: int) -> KernelValues:
    """The sum of the window, divided towards 0."""
    x = stimulus.streams["x"]
    total = sum((past(x, k) for k in range(window)), start=np.zeros(len(x), dtype=np.int64))
    sums = signed32(total)
    return KernelValues(streams={"y": np.sign(sums) * (np.abs(sums) // window)})


MOVING_AVERAGE = Kernel(
    "moving_average", "mean of the last samples by a running sum", _moving_average, _moving_average_model, _WINDOW
)
