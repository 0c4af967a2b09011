"""The examples in docstrings give what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import gridloom

PACKAGE = Path(gridloom.__file__).parent


def modules_with_examples() -> list[str]:
    """The modules whose text has an example; the others need not be imported."""
    return [
        ".".join(("gridloom", *path.relative_to(PACKAGE).with_suffix("").parts))
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name != "__init__.py" and ">>> " in path.read_text(encoding="utf-8")
    ]


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_of_a_module_hold(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        pytest.skip(f"{name} needs {error.name}")
    assert doctest.testmod(module).failed == 0
