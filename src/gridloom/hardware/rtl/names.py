"""Verilog identifiers for the names of an array: ``pe_0_0>pe_0_1`` becomes ``pe_0_0_to_pe_0_1``.

Names have to stay readable in waveforms, so they are translated and not numbered. They are not checked against
Verilog's keywords.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORDS = {">": "_to_", ".": "_", "#": "_lane_"}


def verilog_name(name: str) -> str:
    """Return an identifier for a name of the array: the same for the same name, readable, maybe not unique.

    >>> verilog_name("pe_0_0>pe_0_1"), verilog_name("pe_0_0.in2")
    ('pe_0_0_to_pe_0_1', 'pe_0_0_in2')
    """
    text = "".join(_WORDS.get(letter, letter) for letter in name)
    text = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return text if text[:1].isalpha() else f"n_{text}"


def unique_names(names: Iterable[str]) -> dict[str, str]:
    """Return array name -> Verilog name; where two would be the same, the later one gets a number.

    >>> unique_names(["pe_0.out", "pe_0_out"])
    {'pe_0.out': 'pe_0_out', 'pe_0_out': 'pe_0_out_2'}
    """
    table: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        table[name] = free_name(name, taken)
    return table


def free_name(name: str, taken: set[str]) -> str:
    """Return the Verilog name of an array's name, with a number where it is taken, and add it to those taken.

    >>> free_name("pe_0.out", {"pe_0_out"})
    'pe_0_out_2'
    """
    base = wanted = verilog_name(name)
    number = 2
    while wanted in taken:
        wanted = f"{base}_{number}"
        number += 1
    taken.add(wanted)
    return wanted
