"""A process of its own for MLIR: what its C++ does with a file that nobody foresaw ends that process, not this one.

``call(task, ...)`` starts Python, hands it a function of this package by name and its arguments as JSON, and returns
what the function returns. Time and memory are limited as they are for clang.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from gridloom.compiler.confinement import stop
from gridloom.compiler.ir.driver import CompilerLimits
from gridloom.compiler.mlir.refusal import Refusal
from gridloom.errors import MissingExtra, SourceError, install_hint

#: Seconds that one task may take.
TIME_LIMIT: Final = 60.0

#: Bytes of address space; MLIR's libraries alone map 0.6 GB.
MAX_MEMORY: Final = 6 * 1024 * 1024 * 1024

_MAX_WRITTEN: Final = 256 * 1024 * 1024
_START: Final = (
    "import json, sys; job = json.load(open(sys.argv[1])); sys.path[:] = job['path']; "
    "from gridloom.compiler.mlir.child import work; work(job)"
)


def call(task: str, path: Path, *arguments: Any, time_limit: float | None = None) -> Any:
    """What ``task`` ("module:function" of this package) returns for arguments, computed in a process of its own.

    ``path`` is the file that messages name. SourceError for what the task refuses, and where it does not end in time
    or fails; MissingExtra without torch-mlir. Costs 0.3 s to start.
    """
    if find_spec("torch_mlir") is None:
        raise MissingExtra(f"MLIR sources need torch-mlir: {install_hint('mlir')}")
    limit = TIME_LIMIT if time_limit is None else time_limit
    with tempfile.TemporaryDirectory(prefix="gridloom-mlir-") as folder:
        job = Path(folder) / "job.json"
        result = Path(folder) / "result.json"
        job.write_text(json.dumps({"task": task, "arguments": arguments, "result": str(result), "path": sys.path}))
        status = _run(job, Path(folder), path, limit)
        if not result.is_file() or not result.stat().st_size:
            raise SourceError(f"MLIR ended with status {status} and gave no reason", where=str(path))
        answer = json.loads(result.read_text())
    if "refusal" in answer:
        message, line = answer["refusal"]
        raise SourceError(message, where=f"{path}:{line}" if line else str(path))
    return answer["value"]


def _run(job: Path, folder: Path, path: Path, limit: float) -> int:
    """Run a task to its end within limits; its status."""
    words = [sys.executable, "-c", _START, str(job)]
    process = subprocess.Popen(
        CompilerLimits(MAX_MEMORY, _MAX_WRITTEN).around(words),
        cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        raise SourceError(f"MLIR did not end within {limit:g} s and was stopped", where=str(path)) from None
    finally:
        stop(process)


def work(job: dict[str, Any]) -> None:
    """Do a task in the process that was started for it, and write down its result or why it is refused."""
    module, _, name = job["task"].partition(":")
    answer: dict[str, Any]
    # The file is opened first: a task that runs code of a file may open none afterwards.
    with Path(job["result"]).open("w", encoding="utf-8") as result:
        try:
            answer = {"value": getattr(import_module(module), name)(*job["arguments"])}
        except Refusal as refusal:
            answer = {"refusal": [refusal.message, refusal.line]}
        except Exception as error:
            # A construct that this front end did not foresee; the bindings raise what C++ throws.
            lines = str(error).strip().splitlines() or [type(error).__name__]
            answer = {"refusal": [f"MLIR: {lines[0]}", 0]}
        result.write(json.dumps(answer))
