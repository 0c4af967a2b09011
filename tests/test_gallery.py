"""The notebook of the examples: every cell runs, and what it shows is short and can be read."""

from __future__ import annotations

import ast
import json
from html import escape
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import REPOSITORY

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NOTEBOOK = REPOSITORY / "examples" / "gallery.ipynb"
#: Bytes of an output, and characters of the text that stands for it.
MOST_BYTES, MOST_TEXT = 200_000, 400
#: Pixels of a notebook's column, and of its smallest letters.
WIDTH, SMALLEST = 900, 7


def shown_by(code: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does; returns the value of its last expression."""
    body = ast.parse(code).body
    last = ast.Expression(body.pop().value) if body and isinstance(body[-1], ast.Expr) else None
    # Kernels read their own source: a cell has a name under which it is found.
    import linecache

    name = f"<cell {len(names)}>"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    exec(compile(ast.Module(body, []), name, "exec"), names)
    return None if last is None else eval(compile(last, name, "eval"), names)


def html_of(shown: Any) -> str:
    """What a notebook draws of a value; lines of text wrap."""
    return (
        f"<pre style='white-space:pre-wrap'>{escape(shown)}</pre>"
        if isinstance(shown, str)
        else str(shown._repr_html_())
    )


@pytest.fixture(scope="module")
def outputs() -> list[tuple[str, Any]]:
    """The code of each cell with what it shows."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {"__name__": "__main__"}
    codes = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return [(code, shown) for code in codes if (shown := shown_by(code, names)) is not None]


def test_the_notebook_is_kept_without_outputs():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells if "outputs" in cell)


def test_every_output_is_small(outputs: list[tuple[str, Any]]):
    assert len(outputs) >= 9
    for code, shown in outputs:
        assert len(html_of(shown).encode()) < MOST_BYTES, code
        assert isinstance(shown, str) or len(repr(shown)) < MOST_TEXT, code


@pytest.mark.browser
def test_every_output_can_be_read_in_a_column_of_900_pixels(outputs: list[tuple[str, Any]], browser: Browser):
    page = browser.new_page(viewport={"width": WIDTH, "height": 900})
    for code, shown in outputs:
        page.set_content(f"<body style='margin:0;font:14px sans-serif'>{html_of(shown)}</body>")
        assert page.evaluate("document.documentElement.scrollWidth") <= WIDTH, code
        heights = page.evaluate("[...document.querySelectorAll('svg text')].map(t => t.getBoundingClientRect().height)")
        assert min(heights, default=SMALLEST) >= SMALLEST, code
    page.close()


@pytest.mark.browser
def test_the_zoom_of_a_picture_needs_no_script(outputs: list[tuple[str, Any]], browser: Browser):
    page = browser.new_context(java_script_enabled=False, viewport={"width": WIDTH, "height": 900}).new_page()
    page.set_content(next(shown for code, shown in outputs if code == "result.mapping")._repr_html_())
    widths = []
    for label in ("fit", "100 %", "200 %"):
        page.click(f"label:has-text('{label}')")
        box = page.locator("svg").first.bounding_box()
        assert box is not None
        widths.append(box["width"])
    assert widths[0] <= WIDTH and widths[2] == pytest.approx(2 * widths[1])
    page.close()
