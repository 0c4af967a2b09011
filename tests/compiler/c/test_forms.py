"""Loops as newcomers write them (examples/forms.c): each is mapped or refused in words, as the document lists them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gridloom as gl
from gridloom.compiler.c import describe

pytestmark = pytest.mark.tools
ROOT = Path(__file__).resolve().parents[3]
FORMS = ROOT / "examples" / "forms.c"
ROW = re.compile(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \|$", re.M)


def rows() -> dict[str, tuple[str, str, str]]:
    """Function -> the cells of its row in the document."""
    section = (ROOT / "docs" / "c-frontend.md").read_text().partition("## Forms of loops")[2].partition("\n## ")[0]
    return {match[1]: (match[2], match[3], match[4]) for match in ROW.finditer(section)}


def reports():
    return {report.function: report for report in describe(FORMS) if report.innermost}


def test_the_document_lists_every_form_as_it_is():
    listed, found = rows(), reports()
    assert listed.keys() == found.keys()
    assert len(found) >= 30
    for name, report in found.items():
        operations, recurrence, outcome = listed[name]
        if report.limit is None:
            assert (operations, recurrence) == (str(sum(report.ops.values())), str(report.rec_mii)), name
            assert outcome.startswith("II "), name
        else:
            assert (operations, recurrence) == ("", ""), name
            assert outcome in report.limit, name


@pytest.mark.slow
@pytest.mark.parametrize("name", rows())
def test_a_form_that_is_taken_maps_onto_a_torus(name: str):
    operations, _, outcome = rows()[name]
    if not operations:
        pytest.skip("refused")
    result = gl.map(f"{FORMS}:{name}" + (",loop=3" if name == "conv2d" else ""), "torus:4x4", seed=1, effort=20_000)
    assert (result.status, result.verified.simulated) == ("mapped", True)
    assert f"II {result.mapping.ii}" == outcome
