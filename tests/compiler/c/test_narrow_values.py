"""Values of fewer bits than a word: subjects of switches, and counters that wrap around."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.compiler.c.native import native_library, run_both

from gridloom.compiler.c import COptions, describe, load

pytest.importorskip("llvmlite")
pytest.importorskip("ziglang")
pytestmark = pytest.mark.tools

_CASES = "{ case 200: t = t * 7 + i; break; case 3: t ^= 9; break; case 130: t -= 5; break; default: t += 2; }"
_FOUR = "{ case 0: t = t * 7 + i; break; case 1: t ^= 9; break; case 2: t -= 5; break; default: t += 2; }"
#: Name -> (element, subject, cases).
SWITCHES = {
    "bytes": ("unsigned char", "a[i]", _CASES),
    "signed_bytes": ("signed char", "a[i]", _CASES.replace("200", "-56").replace("130", "-126")),
    "halves": ("unsigned short", "a[i]", _CASES.replace("200", "65000").replace("130", "40000")),
    "sums": ("unsigned char", "(unsigned char)(a[i] + n)", _CASES),
    "masks_of_words": ("int", "a[i] & 3", _FOUR),
    "masks_of_wide": ("long long", "a[i] & 3", _FOUR),
    "wide": ("long long", "a[i]", _CASES.replace("200", "0x100000003LL")),
    "bits": ("long long", "(a[i] >> 5) & 1", "{ case 0: t = t * 7 + i; break; default: t += 2; }"),
}
#: Name -> (head of the inner loop, its iterations).
COUNTERS = {
    "up_to_a_negative": ("for (signed char j = 0; j != -100; j++)", 156),
    "down_to_a_positive": ("for (signed char j = 0; j != 100; j--)", 156),
    "round_unsigned": ("for (unsigned char j = 250; j != 4; j++)", 10),
    "by_threes": ("for (unsigned char j = 0; j != 1; j += 3)", 171),
    "down_by_threes": ("for (signed char j = 5; j != 7; j -= 3)", 170),
    "unsigned_below": ("for (unsigned char j = 3; j < 251; j += 7)", 36),
    "signed_above": ("for (signed char j = 100; j > -120; j -= 11)", 20),
    "halves_round": ("for (short j = 32000; j != -32000; j++)", 1536),
    "halves_down": ("for (unsigned short j = 100; j != 65000; j -= 4)", 159),
    "at_the_bottom": ("signed char j = 0; do", 156),
}


def _source() -> str:
    text = "#include <stdint.h>\n"
    for name, (element, subject, cases) in SWITCHES.items():
        text += f"int {name}(const {element} *a, int n) {{ int t = 1; "
        text += f"for (int i = 0; i < n; i++) switch ({subject}) {cases} return t; }}\n"
    for name, (head, _) in COUNTERS.items():
        text += f"int {name}(const int *a, int n) {{ int t = 0; for (int i = 0; i < n; i++) {{ int s = i; {head} "
        end = "while (++j != -100);" if head.endswith("do") else ""
        text += f"{{ s = s * 3 + a[i] + j; }} {end} t ^= s; }} return t; }}\n"
    return text


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("narrow") / "narrow.c"
    path.write_text(_source())
    return path


def _given(name: str) -> dict[str, object]:
    element = SWITCHES[name][0] if name in SWITCHES else "int"
    kind = {"unsigned char": "u1", "signed char": "i1", "unsigned short": "u2", "int": "i4", "long long": "i8"}[element]
    limits = np.iinfo(kind)
    chosen = [3, 200, 130, 65000, 40000, -56, -126, 0x100000003, *range(4)]
    fitting = np.array([k for k in chosen if limits.min <= k <= limits.max], kind)
    rng = np.random.default_rng(7)
    wide = rng.integers(limits.min, limits.max, 64, endpoint=True, dtype=kind)
    return {"a": np.where(rng.random(64) < 0.7, rng.choice(fitting, 64), wide).astype(kind), "n": 9}


@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.parametrize("n", [9, 64])
def test_a_switch_takes_the_case_that_native_code_takes(source: Path, name: str, n: int) -> None:
    run_both(source, COptions(function=name), {**_given(name), "n": n}, native_library(source))


@pytest.mark.parametrize("name", COUNTERS)
@pytest.mark.parametrize("form", [{"loop": 1}, {"flatten": True}, {"loop": 1, "reduced": False}])
def test_a_counter_wraps_around_as_in_native_code(source: Path, name: str, form: dict[str, object]) -> None:
    run_both(source, COptions(function=name, **form), _given(name), native_library(source))


def test_the_listing_counts_iterations_with_wrap_around(source: Path) -> None:
    found = {report.function: report.trip for report in describe(source) if report.depth == 1}
    assert found == {name: str(iterations) for name, (_, iterations) in COUNTERS.items()}


def test_a_constant_number_of_iterations_is_part_of_the_graph(source: Path) -> None:
    assert load(source, COptions(function="halves_round", loop=1)).dfg.trip_count == 1536
    assert load(source, COptions(function="halves_round", loop=1, unroll=4)).dfg.trip_count == 384
    assert load(source, COptions(function="bytes")).dfg.trip_count is None
