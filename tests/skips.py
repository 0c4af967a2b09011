"""What skipped tests were skipped for want of, in one line at the end of a run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

#: Pattern of a reason -> what is missing. Reasons that fit none are no want of anything: they are left to pytest.
_WANTS = {
    r"could not import '(torch|torch_geometric|sb3_contrib|stable_baselines3)\b": "torch",
    r"could not import '([^'.]+)": r"\1",
    r"no benchmarks in ": "published graphs",
    r"no Chromium": "chromium",
    r"Icarus Verilog is not installed": "iverilog",
    r"[Vv]erilator is not installed": "verilator",
    r"[Yy]osys is not installed": "yosys",
    r"the extra c is not installed": "ziglang",
    r"pip install '[^']*\[(learn|tensor)\]": "torch",
    r"pip install '[^']*\[([\w-]+)\]": r"the extra \1",
    r"needs POSIX signals": "POSIX signals",
}


def missing(reason: str) -> str | None:
    """What a reason of a skip says is missing; None where nothing is."""
    for pattern, name in _WANTS.items():
        if match := re.search(pattern, reason):
            return match.expand(name)
    return None


def summary(skips: Iterable[tuple[str, bool]]) -> str:
    """One line that counts skips by what they want; a skip is its reason and whether a whole file was skipped.

    It is empty where nothing was missing. The most wanted thing comes first, then by name.
    """
    tests: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for reason, whole_file in skips:
        if want := missing(reason):
            (files if whole_file else tests)[want] += 1
    names = sorted(tests.keys() | files.keys(), key=lambda name: (-tests[name] - files[name], name))
    parts = [f"{name} {_counted(tests[name], files[name])}" for name in names]
    return f"skipped for want of: {', '.join(parts)}" if parts else ""


def _counted(tests: int, files: int) -> str:
    if not files:
        return str(tests)
    whole = f"{files} whole file{'s' if files > 1 else ''}"
    return f"{tests} and {whole}" if tests else whole
