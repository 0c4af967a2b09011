"""YAML that a user wrote: bounded in size, without aliases, complaints with line and column.

`parse_yaml` gives plain data and raises OptionErrors: suites, spaces and programs are read by it. `parse_with_lines`
keeps the line of each key, for readers that raise errors of their own and name the line: descriptions of arrays.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

from gridloom.errors import OptionError, SourceError
from gridloom.text_file import read_text

LIMIT: Final = 1_000_000


class YamlProblem(Exception):
    """What is wrong with a text; ``line`` (from 1) where the message itself does not name it."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def read_yaml_file(path: Path) -> str:
    """The text of a file; OptionError when it cannot be read."""
    try:
        return read_text(path, limit=LIMIT)
    except SourceError as error:
        raise OptionError(error.message, where=error.where) from None


def parse_yaml(text: str, where: str) -> dict[str, Any]:
    """The keys and values of a YAML text as plain data; OptionError for anything else. Linear in the text."""
    refusal = "uses YAML aliases (*name), which are not taken; write the values out"
    try:
        return _parse(text, "safe", LIMIT, ("AliasToken",), refusal)
    except YamlProblem as problem:
        raise OptionError(problem.message, where=where) from None


def parse_with_lines(text: str, limit: int) -> dict[str, Any]:
    """The keys and values of a YAML text in containers that know the lines of their keys (``data.lc``).

    YamlProblem for anything else; anchors are refused as well as aliases. Linear in the text.
    """
    refusal = "YAML anchors and aliases (& and *) are not taken; write the values out"
    return _parse(text, "rt", limit, ("AliasToken", "AnchorToken"), refusal)


def _parse(
    text: str, kind: Literal["safe", "rt"], limit: int, refused: tuple[str, ...], refusal: str
) -> dict[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if len(text) > limit:
        raise YamlProblem(f"is {len(text)} characters long; at most {limit} are read")
    try:
        # Tokens are looked at first: aliases are how a few lines become gigabytes.
        if "&" in text or "*" in text:
            for token in YAML(typ=kind, pure=True).scan(text):
                if type(token).__name__ in refused:
                    raise YamlProblem(refusal, token.start_mark.line + 1)
        data = YAML(typ=kind, pure=True).load(text)
    except (YAMLError, RecursionError, ValueError) as error:
        raise YamlProblem(_message(error)) from None
    if not isinstance(data, dict):
        raise YamlProblem(f"expected keys and values, found {type(data).__name__}")
    return data


def _message(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return f"is not YAML: {problem}" + (f" at line {mark.line + 1}, column {mark.column + 1}" if mark else "")
