"""Somebody at the studio's page: every click and every field that is filled counts as an action."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.page_wait import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

#: Milliseconds that anything may take on a busy machine.
PATIENCE = 240_000
#: Actions that a task may take: the bar is "under 10".
MOST_ACTIONS = 9


class Actor:
    """A page with counted actions, and a list of what the browser complains about."""

    def __init__(self, page: Page, complaints: list[str]) -> None:
        self.page = page
        self.actions = 0
        self.complaints = complaints

    def click(self, selector: str) -> None:
        self.actions += 1
        self.page.click(selector, timeout=PATIENCE)

    def fill(self, selector: str, text: str) -> None:
        self.actions += 1
        self.page.fill(selector, text, timeout=PATIENCE)

    def choose(self, selector: str, value: str) -> None:
        self.actions += 1
        self.page.select_option(selector, value, timeout=PATIENCE)

    def press(self, selector: str, key: str) -> None:
        self.actions += 1
        self.page.press(selector, key, timeout=PATIENCE)

    def drag(self, source: str, target: str) -> None:
        self.actions += 1
        self.page.drag_and_drop(source, target, timeout=PATIENCE, force=True)

    # Looking is no action.

    def see(self, selector: str) -> Any:
        return self.page.wait_for_selector(selector, timeout=PATIENCE)

    def text(self, selector: str) -> str:
        return str(self.page.inner_text(selector, timeout=PATIENCE))

    def until(self, expression: str, argument: Any = None) -> None:
        wait_until(self.page, expression, argument, patience=PATIENCE)

    def mapping(self, other_than: str = "") -> str:
        """The id of the mapping that is shown, once it is ready; another one than that given."""
        self.until(
            "before => { const m = document.querySelector('.mapping[data-ready]'); "
            "return m !== null && m.dataset.mapping !== before; }",
            other_than,
        )
        return str(self.page.get_attribute(".mapping", "data-mapping"))


@contextmanager
def opened(browser: Browser, address: str, *, width: int = 1440, dark: bool = False) -> Iterator[Actor]:
    """The page at an address, ready; nothing that the browser complains about is let pass."""
    complaints: list[str] = []
    page = browser.new_page(
        viewport={"width": width, "height": 950}, color_scheme="dark" if dark else "light", accept_downloads=True
    )
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
    page.goto(address)
    page.wait_for_selector("body[data-ready]", timeout=PATIENCE)
    try:
        yield Actor(page, complaints)
    finally:
        page.close()
    assert complaints == []
