"""C tests need clang and llvmlite; where they are missing, everything here is skipped."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from gridloom.compiler.ir.driver import find_compiler
from gridloom.errors import MissingExtra


def _missing() -> str | None:
    if importlib.util.find_spec("llvmlite") is None:
        return "llvmlite is not installed"
    try:
        find_compiler()
    except MissingExtra as error:
        return str(error)
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = _missing()
    here = Path(__file__).parent
    for item in items:
        if reason and here in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=reason))
