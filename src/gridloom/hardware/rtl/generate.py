"""All Verilog modules of an array, as texts.

Nothing is written to disk here; ``package`` adds testbench, file lists and README, and the command line writes them.
Only the primitives that the array's units instantiate are included, so that a lint run finds no module without a user.
"""

from __future__ import annotations

from importlib import resources

from gridloom.hardware.rtl.structure import Hardware
from gridloom.hardware.rtl.top import TOP, top_module
from gridloom.hardware.rtl.unit_module import unit_module

PRIMITIVES = (
    "gl_mux", "gl_link_mux", "gl_delay", "gl_fifo", "gl_config_port", "gl_context_memory", "gl_values", "gl_window",
    "gl_operand", "gl_alu", "gl_cma_alu", "gl_pe", "gl_result", "gl_registers", "gl_memory_bus", "gl_memory_bank",
    "gl_sequencer",
)  # fmt: skip


def primitive(name: str) -> str:
    """Return the text of a hand-written module."""
    return (resources.files("gridloom.hardware.rtl") / "verilog" / f"{name}.v").read_text(encoding="utf-8")


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
    shapes = list(hardware.variants)
    # An array has one kind of function unit, by its domain.
    absent = {"gl_alu" if hardware.domain == "cma24" else "gl_cma_alu"}
    if hardware.arch.banks or not hardware.buses:
        absent.add("gl_memory_bus")
    if not hardware.has_rings:
        absent.add("gl_link_mux")
    if not hardware.arch.banks or not hardware.buses:
        absent.add("gl_memory_bank")
    if not any(shape.registers for shape in shapes):
        absent.add("gl_registers")
    if not any(shape.fifo for shape in shapes):
        absent.add("gl_fifo")
    if not any(source.delay or source.gate >= 0 for s in shapes for mux in s.muxes for source in mux.sources):
        absent.add("gl_delay")
    return [name for name in PRIMITIVES if name not in absent]
