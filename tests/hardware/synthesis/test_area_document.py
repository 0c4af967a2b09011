"""The area figures of the documents are those that the tool measures with the same Yosys."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gridloom.explore.hardware import load_hardware_model
from gridloom.flow.bench.area import hardware_of
from gridloom.hardware.synthesis import yosys
from gridloom.hardware.synthesis.area import Synthesis, Target

PAGE = (Path(__file__).parents[3] / "docs" / "hardware.md").read_text(encoding="utf-8")
EXPLORE = (Path(__file__).parents[3] / "docs" / "explore.md").read_text(encoding="utf-8")


def needs_the_yosys_of_the_page() -> None:
    stated = re.search(r"the synthesiser is (Yosys [\d.]+\d)", PAGE)
    assert stated is not None
    if not yosys.available() or not yosys.version().startswith(f"{stated[1]} "):
        pytest.skip(f"{stated[1]} is not installed")


def row(section: str, *begins: str) -> list[str]:
    """The cells of a table's row behind those that it begins with, in a section of the page."""
    text = PAGE.split(f"### {section}\n")[1].split("\n### ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    found = [cells[len(begins) :] for cells in rows if cells[: len(begins)] == list(begins)]
    assert len(found) == 1, (section, begins)
    return found[0]


def total(synthesis: Synthesis, array: str, target: Target, *, bypass: bool) -> float:
    return synthesis.array_area(hardware_of(array, bypass=bypass)).total(target)


@pytest.mark.tools
def test_gates_of_the_plain_mesh_are_those_of_the_page() -> None:
    needs_the_yosys_of_the_page()
    synthesis, cells = Synthesis("gates"), row("Growth", "gates")
    nine, eighteen = (total(synthesis, f"mesh:{n}x{n},operands=2,fifo=0", "gates", bypass=False) for n in (9, 18))
    assert [cells[0], cells[1]] == [f"{nine:,.0f}", f"{eighteen:,.0f}"]
    assert cells[4] == f"{eighteen / nine:.2f}"


@pytest.mark.tools
@pytest.mark.slow
@pytest.mark.parametrize(("target", "name"), [("gates", "gates"), ("intel", "ALMs"), ("xilinx", "LUTs")])
def test_overhead_of_chess_is_that_of_the_page(target: Target, name: str) -> None:
    needs_the_yosys_of_the_page()
    synthesis = Synthesis(target)
    size = "9x9,operands=2,fifo=0"
    plain = total(synthesis, f"mesh:{size}", target, bypass=False)
    chess = total(synthesis, f"chess:{size}", target, bypass=False)
    cells = row("Topologies, 81 to 1,296 PEs", "chess", name)
    assert cells[0] == f"{chess / plain:.3f}"


def test_errors_of_the_shipped_model_are_those_of_the_pages() -> None:
    area = load_hardware_model()["area"]
    assert f"fitted to {area['units']} units" in EXPLORE.replace("\n", " ")
    assert f"{100 * area['error']:.1f} %" in EXPLORE
