"""Loops with carried state and memory: CRC-32, bit count, string search, integer square root, ADPCM, GSM predictor."""

from __future__ import annotations

import math
import zlib
from typing import TYPE_CHECKING, Final

import numpy as np

from gridloom.dfg.model import DfgBuilder
from gridloom.frontend.kernels.base import Expected, Kernel, Past, choice, connect, counter, nest, number, signed32

if TYPE_CHECKING:
    from gridloom.dfg.interpreter import Stimulus

MASK: Final = 0xFFFFFFFF


# -- CRC-32 ---------------------------------------------------------------------------------------------------------

POLYNOMIAL = 0xEDB88320


def _crc32(b: DfgBuilder, form: str) -> None:
    value = connect(b, "xor", b.input("byte"), Past("crc", 1, (-1,)))
    for bit in range(8):
        lowest = connect(b, "and", value, 1)
        shifted = connect(b, "lshr", value, 1)
        name = "crc" if bit == 7 else None
        if form == "select":
            divided = connect(b, "xor", shifted, signed32(POLYNOMIAL))
            value = connect(b, "select", lowest, divided, shifted, id=name)
        else:
            taken = connect(b, "and", b.add("neg", lowest), signed32(POLYNOMIAL))
            value = connect(b, "xor", shifted, taken, id=name)
    b.output(b.add("not", value), "checksum")


def _crc32_model(stimulus: Stimulus, form: str) -> Expected:
    checksum, results = 0, []
    for byte in stimulus.streams["byte"].tolist():
        checksum = zlib.crc32(bytes([byte]), checksum)
        results.append(signed32(checksum))
    return Expected(streams={"checksum": np.array(results, dtype=np.int64)})


def _feed_bytes(stimulus: Stimulus, rng: np.random.Generator, **_: object) -> None:
    stimulus.streams["byte"] = rng.integers(0, 256, stimulus.iterations, dtype=np.int64)


CRC32 = Kernel(
    name="crc32",
    summary="CRC-32 of a stream of bytes, eight bits an iteration",
    parameters={"form": choice("mask", ("mask", "select"), "how the polynomial is applied: masked, or by selects")},
    graph=_crc32,
    model=_crc32_model,
    feed=_feed_bytes,
)


# -- bit count ------------------------------------------------------------------------------------------------------


def _word_and_step(b: DfgBuilder, array: str, words: int, log_steps: int) -> tuple[str, str, str]:
    """A loop of 2**log_steps iterations over each word of an array: the word, the step in it, the word's index."""
    b.array(array, words)
    i = counter(b)
    step = connect(b, "and", i, (1 << log_steps) - 1, id="step")
    index = connect(b, "lshr", i, log_steps, id="index")
    return b.load(array, index, id="word"), step, index


def _bitcount(b: DfgBuilder, words: int) -> None:
    word, step, index = _word_and_step(b, "words", words, 5)
    b.array("counts", words)
    first = connect(b, "eq", step, 0)
    bits = connect(b, "select", first, word, Past("rest", 1, (0,)), id="bits")
    before = connect(b, "select", first, 0, Past("count", 1, (0,)))
    connect(b, "lshr", bits, 1, id="rest")
    connect(b, "add", before, connect(b, "and", bits, 1), id="count")
    b.store("counts", index, "count")
    b.output("count", "running")


def _bitcount_model(stimulus: Stimulus, words: int) -> Expected:
    memory = {name: values.copy() for name, values in stimulus.memory.items()}
    running = []
    for t in range(stimulus.iterations):
        index, step = divmod(t, 32)
        seen = int(memory["words"][index]) & ((1 << (step + 1)) - 1)
        running.append(seen.bit_count())
        memory["counts"][index] = running[-1]
    return Expected(streams={"running": np.array(running, dtype=np.int64)}, memory=memory)


BITCOUNT = Kernel(
    name="bitcount",
    summary="ones in each word of an array, one bit an iteration",
    parameters={"words": number(64, 1, 4096, "words of the array")},
    graph=_bitcount,
    model=_bitcount_model,
    limit=lambda words: 32 * int(words),
)


# -- integer square root --------------------------------------------------------------------------------------------


def _isqrt(b: DfgBuilder, words: int) -> None:
    """Digit by digit, two bits of the number a step; ``root`` holds the digits found, at the end in their place."""
    word, step, index = _word_and_step(b, "numbers", words, 4)
    b.array("roots", words)
    first = connect(b, "eq", step, 0)
    left = connect(b, "select", first, word, Past("remainder", 1, (0,)), id="left")
    found = connect(b, "select", first, 0, Past("root", 1, (0,)), id="found")
    digit = connect(b, "lshr", 1 << 30, connect(b, "shl", step, 1), id="digit")
    trial = b.add("add", found, digit)
    fits = b.add("ule", trial, left)
    halved = connect(b, "lshr", found, 1)
    connect(b, "select", fits, b.add("sub", left, trial), left, id="remainder")
    connect(b, "select", fits, b.add("add", halved, digit), halved, id="root")
    b.store("roots", index, "root")


def _isqrt_model(stimulus: Stimulus, words: int) -> Expected:
    memory = {name: values.copy() for name, values in stimulus.memory.items()}
    for index in range(-(-stimulus.iterations // 16)):
        steps = min(16, stimulus.iterations - 16 * index)
        unread = 32 - 2 * steps
        number = int(memory["numbers"][index]) & MASK
        memory["roots"][index] = signed32(math.isqrt(number >> unread) << unread)
    return Expected(memory=memory)


ISQRT = Kernel(
    name="isqrt",
    summary="integer square root of each unsigned word of an array, one digit an iteration",
    parameters={"words": number(64, 1, 4096, "words of the array")},
    graph=_isqrt,
    model=_isqrt_model,
    limit=lambda words: 16 * int(words),
)


# -- string search --------------------------------------------------------------------------------------------------


def _string_search(b: DfgBuilder, text: int, pattern: int) -> None:
    b.array("text", text)
    b.array("pattern", pattern)
    index = nest(b, {"start": text - pattern + 1, "j": pattern})
    character = b.load("text", b.add("add", index["start"], index["j"]))
    equal = b.add("eq", character, b.load("pattern", index["j"]))
    before = connect(b, "select", connect(b, "eq", index["j"], 0), 1, Past("matches", 1, (0,)))
    b.add("and", before, equal, id="matches")
    complete = b.add("and", "matches", connect(b, "eq", index["j"], pattern - 1))
    connect(b, "select", complete, index["start"], Past("found", 1, (-1,)), id="found", liveout="position")
    b.output("found", "last_match")


def _string_search_model(stimulus: Stimulus, text: int, pattern: int) -> Expected:
    haystack = bytes(stimulus.memory["text"].tolist())
    needle = bytes(stimulus.memory["pattern"].tolist())
    found, results = -1, []
    for t in range(stimulus.iterations):
        start, j = divmod(t, pattern)
        if j == pattern - 1 and haystack.startswith(needle, start):
            found = start
        results.append(found)
    words = np.array(results, dtype=np.int64)
    return Expected(
        streams={"last_match": words},
        memory={name: values.copy() for name, values in stimulus.memory.items()},
        liveouts={"position": found} if results else {},
    )


def _feed_text(stimulus: Stimulus, rng: np.random.Generator, text: int, pattern: int) -> None:
    # Three letters, so that partial and whole matches are common.
    stimulus.memory["text"] = rng.integers(97, 100, text, dtype=np.int64)
    stimulus.memory["pattern"] = rng.integers(97, 100, pattern, dtype=np.int64)


STRING_SEARCH = Kernel(
    name="string_search",
    summary="last position of a pattern in a text, one character an iteration",
    parameters={
        "text": number(256, 1, 65536, "characters of the text"),
        "pattern": number(4, 1, 64, "characters of the pattern"),
    },
    graph=_string_search,
    model=_string_search_model,
    feed=_feed_text,
    limit=lambda text, pattern: (int(text) - int(pattern) + 1) * int(pattern),
    rule=lambda text, pattern: (
        None if int(pattern) <= int(text) else f"pattern = {pattern} is longer than text = {text}; lengthen the text"
    ),
)
