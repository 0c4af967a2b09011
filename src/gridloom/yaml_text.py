"""YAML that a user wrote, as plain data: bounded, without aliases, errors with line and column."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from gridloom.errors import OptionError, SourceError

LIMIT: Final = 1_000_000


def read_yaml_file(path: Path) -> str:
    """The text of a file; OptionError when it cannot be read."""
    from gridloom.text_file import read_text

    try:
        return read_text(path, limit=LIMIT)
    except SourceError as error:
        raise OptionError(error.message, where=error.where) from None


def parse_yaml(text: str, where: str) -> dict[str, Any]:
    """Keys and values of a YAML text; OptionError for anything else."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if len(text) > LIMIT:
        raise OptionError(f"is {len(text)} characters long; at most {LIMIT} are read", where=where)
    try:
        # The event stream is looked at first: aliases are how a few lines become gigabytes.
        if any(type(event).__name__ == "AliasEvent" for event in YAML(typ="safe", pure=True).parse(text)):
            raise OptionError("uses YAML aliases (*name), which are not taken; write the values out", where=where)
        data = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise OptionError(f"is not YAML: {problem}{line}", where=where) from None
    if not isinstance(data, dict):
        raise OptionError(f"expected keys and values, found {type(data).__name__}", where=where)
    return data
