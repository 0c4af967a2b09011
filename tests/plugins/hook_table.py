"""The table of hooks in docs/extending.md: `python -m tests.plugins.hook_table` writes it anew."""

from __future__ import annotations

import re
from pathlib import Path

from gridloom.registry import HOOKS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extending.md"
_TABLE = re.compile(r"(?<=^\| hook \| key \| object \|\n\| --- \| --- \| --- \|\n)(?:\|.*\n)+", re.MULTILINE)


def with_table(text: str) -> str:
    """The page with a row for each hook."""
    parts = [(name, *told.split(": ", 1)) for name, told in HOOKS.items()]
    return _TABLE.sub(lambda _: "".join(f"| `{name}` | {key} | {what} |\n" for name, key, what in parts), text)


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
