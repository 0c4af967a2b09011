"""Fixtures of other folders that the tests of targets use, too."""

from __future__ import annotations

from tests.cli.conftest import gridloom
from tests.search.conftest import triangle

__all__ = ["gridloom", "triangle"]
