"""Stored results: a file for each claim with its latest quick and its latest whole run, and how a new run differs.

A run has ``command``, ``version``, ``date``, ``machine``, ``seeds``, ``cpu_seconds``, ``sources`` (a hash of what the
claim depends on) and ``rows``. A row is on one line, so that a change of results is a change that a reviewer sees.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.claim import REPOSITORY, Claim, Row, Rows
from gridloom import __version__

Run = dict[str, Any]
VARIANTS = ("whole", "quick")


def describe_machine() -> str:
    """Return processor, cores and interpreter in a line."""
    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"


@cache
def hash_sources(names: tuple[str, ...]) -> str:
    """Return a hash of the files of some modules or packages of gridloom; a missing one has a hash of its own."""
    package, digest = REPOSITORY / "src" / "gridloom", hashlib.sha256()
    for name in names:
        path = package / name.replace(".", "/")
        files = sorted(path.rglob("*")) if path.is_dir() else [path.with_suffix(".py")]
        for file in files:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(str(file.relative_to(package)).encode() + b"\0" + file.read_bytes())
        digest.update(name.encode())
    return digest.hexdigest()[:16]


def new_run(claim: Claim, rows: Rows, *, quick: bool, cpu_seconds: float) -> Run:
    """Return a run of today."""
    return {
        "command": claim.command(quick),
        "version": __version__,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": describe_machine(),
        "seeds": sorted({row["seed"] for row in rows if "seed" in row}),
        "cpu_seconds": round(cpu_seconds, 1),
        "sources": hash_sources(claim.depends),
        "rows": list(rows),
    }


def read_runs(claim: Claim) -> dict[str, Run]:
    """Return variant -> the stored run."""
    return json.loads(claim.file.read_text(encoding="utf-8"))["runs"] if claim.file.is_file() else {}


def shown_run(claim: Claim) -> tuple[str, Run] | None:
    """Return the run that the pages show: the whole one if there is one."""
    runs = read_runs(claim)
    return next(((variant, runs[variant]) for variant in VARIANTS if variant in runs), None)


def write_run(claim: Claim, run: Run, *, quick: bool) -> None:
    """Store a run in the place of the last one of its variant."""
    runs = {**read_runs(claim), VARIANTS[quick]: run}
    claim.file.parent.mkdir(parents=True, exist_ok=True)
    claim.file.write_text(format_runs(claim, runs), encoding="utf-8")


def format_runs(claim: Claim, runs: dict[str, Run]) -> str:
    """Return the text of a file: JSON with a line for each row."""
    parts = []
    for variant, run in sorted(runs.items()):
        lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in run.items() if key != "rows"]
        rows = ",\n".join(f"   {json.dumps(row)}" for row in run["rows"])
        parts.append("\n".join([f" {json.dumps(variant)}: {{", *lines, f'  "rows": [\n{rows}\n  ]\n }}']))
    head = f'{{"claim": {json.dumps(claim.name)}, "measures": {json.dumps(claim.measures)}, "runs": {{\n'
    return head + ",\n".join(parts) + "\n}}\n"


def is_stale(claim: Claim, run: Run) -> bool:
    """Whether a module that the claim depends on has changed since the run."""
    return bool(run["sources"] != hash_sources(claim.depends))


def differences(claim: Claim, old: Rows, new: Rows) -> Iterator[str]:
    """Yield a line for each value that left its tolerance, and for each row that is gone or new."""
    if len(old) != len(new):
        yield f"{len(old)} rows are stored, {len(new)} were measured"
    for k, (before, now) in enumerate(zip(old, new)):
        for name in before.keys() | now.keys():
            a, b = before.get(name), now.get(name)
            if not _is_within(a, b, claim.tolerance.get(name, 0.0)):
                yield f"row {k} ({_label(before)}): {name} {b}, stored {a}"


def _is_within(a: Any, b: Any, share: float) -> bool:
    if share == float("inf") or a == b:
        return True
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (a, b))
    return numbers and abs(a - b) <= share * max(abs(a), abs(b)) + (1e-9 if isinstance(a, float) else 0)


def _label(row: Row) -> str:
    return ", ".join(str(value) for value in list(row.values())[:3])
