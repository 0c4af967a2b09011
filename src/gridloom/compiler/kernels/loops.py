"""Loops with carried state and memory: CRC-32, bit count, integer square root, string search.

Nests are flattened into one loop over words and their bits, or over positions and characters. A carried value begins
anew at the start of every word or position, by a select on the step.
"""

from __future__ import annotations

import math
import zlib
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gridloom.compiler.kernels.base import Kernel, KernelValues
from gridloom.compiler.kernels.building import arrays, connect, counter, nest, previous
from gridloom.compiler.kernels.reference import copied_memory, feed_bytes, signed32, words_of
from gridloom.compiler.parameters import choice, number
from gridloom.dfg.model import DfgBuilder

if TYPE_CHECKING:
    from gridloom.dfg.interpreter import Stimulus

MASK: Final = 0xFFFFFFFF

_WORDS = {"words": number(64, 1, 4096, "words of the array")}


# -- CRC-32 ---------------------------------------------------------------------------------------------------------

POLYNOMIAL = 0xEDB88320


_FORM = {"form": choice("mask", ("mask", "select"), "how the polynomial is applied: masked, or by selects")}


def _crc32(b: DfgBuilder, form: str) -> None:
    """The bitwise algorithm: eight times shift right, and add the polynomial where a one falls out.

    The form decides how the polynomial is applied: under a mask made from the bit, or by a select.
    """
    value = connect(b, "xor", b.input("byte"), previous("crc", -1))
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


def _crc32_model(stimulus: Stimulus, form: str) -> KernelValues:
    """The checksum after each byte, by zlib."""
    checksum, results = 0, []
    for byte in stimulus.streams["byte"].tolist():
        checksum = zlib.crc32(bytes([byte]), checksum)
        results.append(signed32(checksum))
    return KernelValues(streams={"checksum": words_of(results)})


CRC32 = Kernel(
    "crc32", "CRC-32 of a stream of bytes, eight bits per iteration", _crc32, _crc32_model, _FORM, feed=feed_bytes
)


# -- bit count ------------------------------------------------------------------------------------------------------


class _Loop(NamedTuple):
    """The nodes that drive a loop of several steps over each word of an array."""

    word: str
    #: True in the first step of a word.
    first: str
    step: str
    #: Where the word is in its array.
    position: str


def _word_and_step(b: DfgBuilder, source: str, result: str, words: int, log_steps: int) -> _Loop:
    """Declare both arrays and loop 2**log_steps times over each word of ``source``."""
    arrays(b, **{source: words, result: words})
    i = counter(b)
    step = connect(b, "and", i, (1 << log_steps) - 1, id="step")
    index = connect(b, "lshr", i, log_steps, id="index")
    return _Loop(b.load(source, index, id="word"), connect(b, "eq", step, 0), step, index)


def _bitcount(b: DfgBuilder, words: int) -> None:
    """Each iteration adds the lowest bit of what is left of a word, and stores the count so far."""
    loop = _word_and_step(b, "words", "counts", words, 5)
    bits = connect(b, "select", loop.first, loop.word, previous("rest"), id="bits")
    before = connect(b, "select", loop.first, 0, previous("count"))
    connect(b, "lshr", bits, 1, id="rest")
    connect(b, "add", before, connect(b, "and", bits, 1), id="count")
    b.store("counts", loop.position, "count")
    b.output("count", "running")


def _bitcount_model(stimulus: Stimulus, words: int) -> KernelValues:
    """The ones among the bits of each word that have been seen so far."""
    memory = copied_memory(stimulus)
    running = []
    for t in range(stimulus.iterations):
        index, step = divmod(t, 32)
        seen = int(memory["words"][index]) & ((1 << (step + 1)) - 1)
        running.append(seen.bit_count())
        memory["counts"][index] = running[-1]
    return KernelValues(streams={"running": words_of(running)}, memory=memory)


BITCOUNT = Kernel(
    "bitcount",
    "ones in each word of an array, one bit per iteration",
    _bitcount,
    _bitcount_model,
    _WORDS,
    limit=lambda words: 32 * words,
)


# -- integer square root --------------------------------------------------------------------------------------------


def _isqrt(b: DfgBuilder, words: int) -> None:
    """Each step takes two bits of the number and finds one digit, which ``root`` collects.

    This is the shift-and-subtract method: ``digit`` is the square of the place that is tried, and the trial is
    subtracted where it fits. Sixteen steps give the root of a 32-bit word.
    """
    loop = _word_and_step(b, "numbers", "roots", words, 4)
    left = connect(b, "select", loop.first, loop.word, previous("remainder"), id="left")
    found = connect(b, "select", loop.first, 0, previous("root"), id="found")
    digit = connect(b, "lshr", 1 << 30, connect(b, "shl", loop.step, 1), id="digit")
    trial = b.add("add", found, digit)
    fits = b.add("ule", trial, left)
    halved = connect(b, "lshr", found, 1)
    connect(b, "select", fits, b.add("sub", left, trial), left, id="remainder")
    connect(b, "select", fits, b.add("add", halved, digit), halved, id="root")
    b.store("roots", loop.position, "root")


def _isqrt_model(stimulus: Stimulus, words: int) -> KernelValues:
    """The integer roots of what has been read of each word: two bits per iteration, from the top."""
    memory = copied_memory(stimulus)
    for index in range(-(-stimulus.iterations // 16)):
        steps = min(16, stimulus.iterations - 16 * index)
        unread = 32 - 2 * steps
        number = int(memory["numbers"][index]) & MASK
        memory["roots"][index] = signed32(math.isqrt(number >> unread) << unread)
    return KernelValues(memory=memory)


ISQRT = Kernel(
    "isqrt",
    "integer square root of each unsigned word of an array, one digit per iteration",
    _isqrt,
    _isqrt_model,
    _WORDS,
    limit=lambda words: 16 * words,
)


# -- string search --------------------------------------------------------------------------------------------------


_LENGTHS = {
    "text": number(256, 1, 65536, "characters of the text"),
    "pattern": number(4, 1, 64, "characters of the pattern"),
}


def _string_search(b: DfgBuilder, text: int, pattern: int) -> None:
    """The naive search: each iteration compares one character of the pattern at one position of the text.

    A flag is carried through the characters of a position; at the last one it decides whether the position is kept.
    """
    arrays(b, text=text, pattern=pattern)
    start, j = nest(b, {"start": text - pattern + 1, "j": pattern})
    character = b.load("text", b.add("add", start, j))
    equal = b.add("eq", character, b.load("pattern", j))
    so_far = connect(b, "select", connect(b, "eq", j, 0), 1, previous("matches"))
    b.add("and", so_far, equal, id="matches")
    complete = b.add("and", "matches", connect(b, "eq", j, pattern - 1))
    connect(b, "select", complete, start, previous("found", -1), id="found", liveout="position")
    b.output("found", "last_match")


def _string_search_model(stimulus: Stimulus, text: int, pattern: int) -> KernelValues:
    """The last position at which the whole pattern was found, after each comparison."""
    haystack = bytes(stimulus.memory["text"].tolist())
    needle = bytes(stimulus.memory["pattern"].tolist())
    found, results = -1, []
    for t in range(stimulus.iterations):
        start, j = divmod(t, pattern)
        if j == pattern - 1 and haystack.startswith(needle, start):
            found = start
        results.append(found)
    liveouts = {"position": found} if results else {}
    return KernelValues(streams={"last_match": words_of(results)}, memory=copied_memory(stimulus), liveouts=liveouts)


def _feed_text(stimulus: Stimulus, rng: np.random.Generator, text: int, pattern: int) -> None:
    """A text and a pattern over three letters."""
    # Three letters, so that partial and whole matches are common.
    stimulus.memory["text"] = rng.integers(97, 100, text, dtype=np.int64)
    stimulus.memory["pattern"] = rng.integers(97, 100, pattern, dtype=np.int64)


def _pattern_fits(text: int, pattern: int) -> str | None:
    """What is wrong with the lengths, or None."""
    return None if pattern <= text else f"pattern = {pattern} is longer than text = {text}; lengthen the text"


STRING_SEARCH = Kernel(
    "string_search",
    "last position of a pattern in a text, one character per iteration",
    _string_search,
    _string_search_model,
    _LENGTHS,
    feed=_feed_text,
    limit=lambda text, pattern: (text - pattern + 1) * pattern,
    rule=_pattern_fits,
)
