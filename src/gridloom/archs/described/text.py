"""A description as YAML text that people read: short lists and dictionaries on one line, one entry per line."""

from __future__ import annotations

import json
import re
from typing import Any, Final

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./>+-]*")
#: Words that YAML, in one of its versions, reads as something else than text.
_WORDS: Final = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_WIDTH: Final = 110


def yaml_text(data: dict[str, Any]) -> str:
    """Return a description as YAML text, which reads back to the same data. Linear in the description.

    >>> print(yaml_text({"rows": 2, "tiles": [{"where": [0, 1], "ops": ["alu"]}]}), end="")
    rows: 2
    tiles:
      - {where: [0, 1], ops: [alu]}
    """
    return "".join(_block(key, value, "") for key, value in data.items())


def _block(key: str, value: Any, indent: str) -> str:
    """Return the lines of a key: on one line where it is short, else one line for each part."""
    line = f"{indent}{_scalar(key)}: {_flow(value)}\n"
    if not isinstance(value, dict | list) or not value:
        return line
    if isinstance(value, list):
        if len(line) <= _WIDTH and not any(isinstance(part, dict | list) for part in value):
            return line
        return f"{indent}{_scalar(key)}:\n" + "".join(f"{indent}  - {_flow(part)}\n" for part in value)
    if len(line) <= _WIDTH:
        return line
    return f"{indent}{_scalar(key)}:\n" + "".join(_block(name, part, indent + "  ") for name, part in value.items())


def _flow(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(name)}: {_flow(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(part) for part in value) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    """Return a number, a truth value or a text, in quotes where YAML would read it as something else."""
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    text = str(value)
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else json.dumps(text)
