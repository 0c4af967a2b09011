"""Speech coding: a step of the IMA ADPCM encoder, and the lag search of GSM's long-term predictor.

In the encoder each sample's code depends on the prediction and the step size that the sample before left, a
recurrence through a table in memory. The lag search carries the best sum and its lag.

The ADPCM step is almost all recurrence, so that its RecMII, not the number of tiles, decides the II; the lag search
is the opposite: a long-running sum whose recurrence is short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gridloom.compiler.kernels.base import Kernel, KernelValues
from gridloom.compiler.kernels.building import arrays, connect, nest, previous, restarted_sum
from gridloom.compiler.kernels.reference import copied_memory, signed32, words_of
from gridloom.compiler.parameters import number
from gridloom.dfg.model import DfgBuilder

if TYPE_CHECKING:
    from gridloom.dfg.interpreter import Stimulus

INDEX_CHANGES = (-1, -1, -1, -1, 2, 4, 6, 8)
STEP_SIZES = (
    7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 21, 23, 25, 28, 31, 34, 37, 41, 45, 50, 55, 60, 66, 73, 80, 88, 97, 107,
    118, 130, 143, 157, 173, 190, 209, 230, 253, 279, 307, 337, 371, 408, 449, 494, 544, 598, 658, 724, 796, 876, 963,
    1060, 1166, 1282, 1411, 1552, 1707, 1878, 2066, 2272, 2499, 2749, 3024, 3327, 3660, 4026, 4428, 4871, 5358, 5894,
    6484, 7132, 7845, 8630, 9493, 10442, 11487, 12635, 13899, 15289, 16818, 18500, 20350, 22385, 24623, 27086, 29794,
    32767,
)  # fmt: skip
LAST_STEP = len(STEP_SIZES) - 1


def _clamp(b: DfgBuilder, value: str, low: int, high: int, id: str) -> str:
    """A value between two bounds: a minimum and a maximum."""
    return connect(b, "max", connect(b, "min", value, high), low, id=id)


def _adpcm(b: DfgBuilder) -> None:
    """The difference to the prediction is coded in a sign and three bits of half step sizes.

    The prediction moves by what the decoder will add; the step index moves by a table and is kept in range. Both
    are carried.
    """
    arrays(b, steps=LAST_STEP + 1, changes=16)
    predicted = previous("prediction")
    size = connect(b, "load", previous("index"), array="steps")
    difference = connect(b, "sub", b.input("sample"), predicted)
    sign = connect(b, "shl", connect(b, "lt", difference, 0), 3)
    left = b.add("abs", difference)
    change = connect(b, "shr", size, 3)
    code = sign
    for bit in (4, 2, 1):
        fits = b.add("ge", left, size)
        code = b.add("or", code, connect(b, "select", fits, bit, 0))
        taken = connect(b, "select", fits, size, 0)
        change = b.add("add", change, taken)
        if bit > 1:
            left = b.add("sub", left, taken)
            size = connect(b, "shr", size, 1)
    up, down = connect(b, "add", predicted, change), connect(b, "sub", predicted, change)
    _clamp(b, b.add("select", sign, down, up), -32768, 32767, "prediction")
    moved = connect(b, "add", previous("index"), b.load("changes", code))
    _clamp(b, moved, 0, LAST_STEP, "index")
    b.output(code, "code")


def _adpcm_model(stimulus: Stimulus) -> KernelValues:
    """The encoder as the IMA specification describes it, sample by sample."""
    steps, changes = stimulus.memory["steps"].tolist(), stimulus.memory["changes"].tolist()
    prediction, index, codes = 0, 0, []
    for sample in stimulus.streams["sample"].tolist():
        step = steps[index]
        difference = sample - prediction
        code = 0
        if difference < 0:
            code, difference = 8, -difference
        change = step >> 3
        for bit, part in ((4, step), (2, step >> 1), (1, step >> 2)):
            if difference >= part:
                code |= bit
                difference -= part
                change += part
        prediction = min(max(prediction - change if code & 8 else prediction + change, -32768), 32767)
        index = min(max(index + changes[code], 0), LAST_STEP)
        codes.append(code)
    return KernelValues(streams={"code": words_of(codes)}, memory=copied_memory(stimulus))


def _feed_adpcm(stimulus: Stimulus, rng: np.random.Generator) -> None:
    """The tables of the standard, and a random walk as the samples."""
    stimulus.memory["steps"] = np.array(STEP_SIZES, dtype=np.int64)
    stimulus.memory["changes"] = np.array(INDEX_CHANGES * 2, dtype=np.int64)
    walk = np.cumsum(rng.integers(-3000, 3001, stimulus.iterations))
    stimulus.streams["sample"] = np.clip(walk, -32768, 32767).astype(np.int64)


ADPCM = Kernel(
    "adpcm",
    "IMA ADPCM encoder: a 4-bit code for each sample; prediction and step index are carried",
    _adpcm,
    _adpcm_model,
    feed=_feed_adpcm,
)


_WINDOW_AND_LAGS = {
    "window": number(40, 1, 256, "samples of the segment, and the least lag"),
    "lags": number(81, 1, 256, "lags that are tried"),
}


def _gsm_ltp(b: DfgBuilder, window: int, lags: int) -> None:
    """For each lag, the products of the segment and the past at that lag are summed; the best one is carried.

    The two loops, over lags and over samples, are flattened into one: the sum begins anew at the first sample, and
    the comparison counts at the last one only.
    """
    history = window + lags - 1
    arrays(b, segment=window, history=history)
    lag_index, k = nest(b, {"l": lags, "k": window})
    # Lag window + l reaches that far back from sample k of the segment.
    newest = connect(b, "sub", k, lag_index)
    older = b.load("history", connect(b, "add", newest, history - window))
    product = b.add("mul", b.load("segment", k), older)
    restarted_sum(b, connect(b, "eq", k, 0), 0, product, "sum")
    last = connect(b, "eq", k, window - 1)
    better = b.add("and", last, connect(b, "gt", "sum", previous("peak")))
    connect(b, "select", better, "sum", previous("peak"), id="peak", liveout="peak")
    lag = connect(b, "add", lag_index, window)
    connect(b, "select", better, lag, previous("best", window), id="best", liveout="lag")


def _gsm_ltp_model(stimulus: Stimulus, window: int, lags: int) -> KernelValues:
    """The correlation at each complete lag by NumPy, and the greatest of them."""
    segment, history = stimulus.memory["segment"], stimulus.memory["history"]
    peak, lag = 0, window
    for candidate in range(stimulus.iterations // window):
        start = len(history) - window - candidate
        correlation = signed32(int(np.dot(segment, history[start : start + window])))
        if correlation > peak:
            peak, lag = correlation, window + candidate
    liveouts = {"peak": peak, "lag": lag} if stimulus.iterations else {}
    return KernelValues(memory=copied_memory(stimulus), liveouts=liveouts)


def _feed_gsm_ltp(stimulus: Stimulus, rng: np.random.Generator, window: int, lags: int) -> None:
    """Samples of 13 bits."""
    for name, length in (("segment", window), ("history", window + lags - 1)):
        stimulus.memory[name] = rng.integers(-(1 << 12), 1 << 12, length, dtype=np.int64)


GSM_LTP = Kernel(
    "gsm_ltp",
    "GSM long-term predictor: the lag at which the past correlates best with a segment",
    _gsm_ltp,
    _gsm_ltp_model,
    _WINDOW_AND_LAGS,
    feed=_feed_gsm_ltp,
    limit=lambda window, lags: window * lags,
)
