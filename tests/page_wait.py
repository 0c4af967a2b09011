"""Waiting for a page without evaluating text inside it.

``wait_for_function`` of Playwright calls ``eval`` in the page whenever its first look fails. The security policy of our
pages forbids that, so such a test passes on a fast machine only. Here the browser evaluates each look from outside.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

#: Milliseconds between two looks.
PAUSE = 25


def wait_until(page: Page, expression: str, argument: Any = None, *, patience: int = 30_000) -> None:
    """Return once the JavaScript function holds; raise TimeoutError after the patience, in milliseconds."""
    end = time.monotonic() + patience / 1000
    while not page.evaluate(expression, argument):
        if time.monotonic() > end:
            raise TimeoutError(f"still false after {patience} ms: {expression}")
        page.wait_for_timeout(PAUSE)
