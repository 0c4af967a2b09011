"""VCD, the value change dump of IEEE 1364: what GTKWave, Surfer and every other waveform viewer opens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

_FIRST, _LAST = 33, 126
_BASE: Final = _LAST - _FIRST + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One line of a waveform: its scope and name, its width in bits, and a value for each cycle; None is unknown."""

    scope: str
    name: str
    width: int
    values: Sequence[int | None]


def vcd(signals: Iterable[Signal], *, module: str, timescale: str = "1 ns") -> str:
    """Return signals as VCD text, one unit of time for each cycle; values are written as they change.

    Names are made of letters, digits and underscores, as the format wants them. Linear in the values.

    >>> print(vcd([Signal(scope="pe_0_0", name="out", width=4, values=[None, 3, 3, -1])], module="top"))
    $timescale 1 ns $end
    $scope module top $end
    $scope module pe_0_0 $end
    $var wire 4 ! out $end
    $upscope $end
    $upscope $end
    $enddefinitions $end
    #0
    bx !
    #1
    b11 !
    #3
    b1111 !
    #4
    <BLANKLINE>
    """
    rows = list(signals)
    lines = [f"$timescale {timescale} $end", f"$scope module {_word(module)} $end"]
    for scope in dict.fromkeys(signal.scope for signal in rows):
        lines.append(f"$scope module {_word(scope)} $end")
        lines += [
            f"$var wire {signal.width} {_code(k)} {_word(signal.name)} $end"
            for k, signal in enumerate(rows)
            if signal.scope == scope
        ]
        lines.append("$upscope $end")
    lines += ["$upscope $end", "$enddefinitions $end"]
    cycles = max((len(signal.values) for signal in rows), default=0)
    changes: list[list[str]] = [[] for _ in range(cycles)]
    for k, signal in enumerate(rows):
        last: object = signal
        for cycle, value in enumerate(signal.values):
            if value != last:
                changes[cycle].append(f"{_bits(value, signal.width)} {_code(k)}")
                last = value
    for cycle, found in enumerate(changes):
        if found:
            lines += [f"#{cycle}", *found]
    return "\n".join([*lines, f"#{cycles}", ""])


def _bits(value: int | None, width: int) -> str:
    """A value in binary, in two's complement; unknown bits are x."""
    return "bx" if value is None else f"b{value & ((1 << width) - 1):b}"


def _code(number: int) -> str:
    """The short name of a signal: printable characters, counted up."""
    text = ""
    while True:
        text += chr(_FIRST + number % _BASE)
        number = number // _BASE - 1
        if number < 0:
            return text


def _word(name: str) -> str:
    """A name without spaces and signs that viewers stumble over."""
    return re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "_"
