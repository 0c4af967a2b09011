"""Why a function of an MLIR file is not taken: a line and a sentence, found in the process that lowers it."""

from __future__ import annotations

import re
from typing import Any


class Refusal(Exception):
    """What cannot be taken, the line of the file that holds it (0 where none is known), and the function."""

    def __init__(self, message: str, line: int = 0, function: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.function = function


def line_of(location: Any) -> int:
    """The first line that a location of MLIR names; 0 where it names none."""
    match = re.search(r"\"[^\"]*\":(\d+):\d+", str(location))
    return int(match[1]) if match else 0


def from_diagnostics(error: Any) -> Refusal:
    """The first complaint of MLIR's parser, verifier or passes, with its line."""
    for diagnostic in getattr(error, "error_diagnostics", ()):
        text = " ".join(diagnostic.message.split())
        # LLVM quotes names with a grave accent before and an apostrophe behind.
        return Refusal(f"MLIR: {text.replace('`', chr(39))}", line_of(diagnostic.location))
    return Refusal(f"MLIR: {str(error).strip().splitlines()[0] if str(error).strip() else 'gave no reason'}")
