"""Published arrays as ready descriptions, one YAML file each, which name their sources.

``build`` reads the file of a name and puts what else is given in its place, so that ``adres,rows=4`` is not a different
file but the same one with another key. A new array needs a file here and a line in the registry.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any

from gridloom.archs.model import Arch
from gridloom.archs.spec import array_name, build_spec, plain
from gridloom.errors import ArchError
from gridloom.yaml_text import parse_with_lines

_LIMIT = 1_000_000


def text_of(name: str) -> str:
    """Return the description of a published array as text."""
    return (resources.files("gridloom.targets.modulo.families.classics") / f"{name}.yaml").read_text(encoding="utf-8")


def build(spec: Mapping[str, Any]) -> Arch:
    """Return a published array; keys beside ``family`` take the place of those of its description."""
    name = str(spec["family"])
    described = plain(parse_with_lines(text_of(name), _LIMIT))
    changed = {key: value for key, value in spec.items() if key != "family"}
    try:
        arch = build_spec({**described, **changed, "name": array_name(spec)}, name)
    except ArchError as error:
        raise ArchError(error.message) from None
    return arch
