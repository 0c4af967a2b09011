"""All Verilog modules of an array, as texts.

Nothing is written to disk here; ``package`` adds testbench, file lists and README, and the command line writes them.
Only the primitives that the array's units instantiate are included, so that a lint run finds no module without a user.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import Final

from gridloom.dfg.ops import OP_TABLE
from gridloom.hardware.parameters import OPCODES
from gridloom.hardware.rtl.structure import CODE_BASE, PRODUCTS, QUOTIENTS, Hardware
from gridloom.hardware.rtl.top import TOP, top_module
from gridloom.hardware.rtl.unit_module import unit_module

PRIMITIVES = (
    "gl_mux", "gl_link_mux", "gl_delay", "gl_fifo", "gl_config_port", "gl_context_memory", "gl_values", "gl_window",
    "gl_operand", "gl_adder", "gl_shifter", "gl_product", "gl_division", "gl_cut", "gl_float_sum", "gl_float_product",
    "gl_float_order", "gl_float", "gl_controls", "gl_alu", "gl_cma_alu", "gl_pe", "gl_simd_pe", "gl_units",
    "gl_simd_units", "gl_result", "gl_registers", "gl_named_registers", "gl_memory_bus", "gl_memory_bank",
    "gl_sequencer",
)  # fmt: skip


_MASKS: Final = {"PRODUCTS": PRODUCTS, "QUOTIENTS": QUOTIENTS}


def primitive(name: str) -> str:
    """Return the text of a hand-written module, with its opcodes filled in."""
    return fill_codes((resources.files("gridloom.hardware.rtl") / "verilog" / f"{name}.v").read_text(encoding="utf-8"))


def fill_codes(text: str) -> str:
    """Return Verilog with opcodes of the op table for ``@op@`` and ``@cma24.op@``, and masks of them for ``@MASK@``.

    KeyError for a name that the table does not have.

    >>> fill_codes("ADD = @add@, SEL = @cma24.sel@, QUOTIENTS = @QUOTIENTS@;")
    "ADD = 12, SEL = 19, QUOTIENTS = 128'd15 << 15;"
    """
    return re.sub(r"@(?:(cma24)\.)?(\w+)@", lambda found: _code(found[1] or "i32", found[2]), text)


def _code(domain: str, name: str) -> str:
    """The text of an opcode of a domain, or of a mask."""
    return _mask_text(_MASKS[name]) if name in _MASKS else str(OP_TABLE[domain][name].code - CODE_BASE[domain])


def _mask_text(mask: int) -> str:
    """A mask as an expression of Verilog: a term for each run of ones.

    >>> _mask_text(0b1011000)
    "(128'd3 << 3) | (128'd1 << 6)"
    """
    runs = [(found.start(), len(found[0])) for found in re.finditer("1+", f"{mask:b}"[::-1])]
    terms = [f"{OPCODES}'d{(1 << length) - 1} << {start}" for start, length in runs]
    return terms[0] if len(terms) == 1 else " | ".join(f"({term})" for term in terms)


def rtl_files(hardware: Hardware) -> dict[str, str]:
    """Return file name -> text of every module: the primitives, one file for each unit variant, and the top.

    Linear in the array; an 8 x 8 grid takes well under a second.
    """
    texts = {f"{name}.v": primitive(name) for name in used_primitives(hardware)}
    for shape, name in hardware.variants.items():
        texts[f"{name}.v"] = unit_module(hardware, shape)
    texts[f"{TOP}.v"] = top_module(hardware)
    return texts


def used_primitives(hardware: Hardware) -> list[str]:
    """Return the names of the primitives that an array uses."""
    texts = [unit_module(hardware, shape) for shape in hardware.variants] + [top_module(hardware)]
    # An array has one kind of function unit, by its domain.
    absent = {"gl_alu", "gl_product", "gl_division"} if hardware.domain == "cma24" else {"gl_cma_alu"}
    if not any(shape.floats for shape in hardware.variants):
        absent.add("gl_float")
    needed = {name for name in PRIMITIVES if any(f"{name} #(" in text for text in texts)}
    # A primitive that another one instantiates is needed with it.
    grown = True
    while grown:
        inner = {name for user in needed for name in PRIMITIVES if f"{name} #(" in primitive(user)} - absent
        grown = not inner <= needed
        needed |= inner
    return [name for name in PRIMITIVES if name in needed]
