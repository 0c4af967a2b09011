"""Tests of MLIR need torch-mlir, clang and llvmlite; those that do are skipped where one is missing."""

from __future__ import annotations

import pytest

from gridloom.compiler.ir.driver import find_compiler
from gridloom.errors import MissingExtra


@pytest.fixture(autouse=True, scope="session")
def tools() -> None:
    pytest.importorskip("torch_mlir.ir")
    pytest.importorskip("llvmlite")
    try:
        find_compiler()
    except MissingExtra as error:
        pytest.skip(str(error))
