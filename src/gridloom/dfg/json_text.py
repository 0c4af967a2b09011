"""JSON text as gridloom's formats write and read it: one record per line, and errors that name the place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gridloom.errors import GridloomError


def write_document(data: Mapping[str, Any], rendered: Mapping[str, str] | None = None) -> str:
    """An object as JSON text, with each row of a list on a line of its own.

    ``rendered`` holds the text of values that are JSON text already, by key.
    """
    texts = rendered or {}
    parts = []
    for key, value in data.items():
        if isinstance(value, list):
            rows = ",\n".join(f"    {json.dumps(row)}" for row in value)
            parts.append(f"  {json.dumps(key)}: [\n{rows}\n  ]")
        else:
            parts.append(f"  {json.dumps(key)}: {texts.get(key) or json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def read_document(text: str, where: str, what: str, error: type[GridloomError]) -> Any:
    """The value of a JSON text; raises ``error`` with the line and column where it is not one.

    ``what`` says what the text should hold ("a graph"), for texts that are nested too deeply for it.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as fault:
        place = f"line {fault.lineno}, column {fault.colno}"
        raise error(f"is not JSON: {fault.msg} at {place}", where=where) from None
    except RecursionError:
        raise error(f"is nested too deeply to be {what}", where=where) from None
    except ValueError:
        # Python's own bound on the digits of an integer.
        raise error("holds a number of more digits than any value has", where=where) from None
