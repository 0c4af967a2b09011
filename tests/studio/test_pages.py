"""What the pages of the studio show: the search on its array, errors at their lines, large slots, legible texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.studio.actor import Actor, opened
from tests.studio.conftest import Studio

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")
BAD_LOOP = "int f(const int *x, int n) {\n  int s = 0;\n  for (int i = 0; i < n; i++)\n    s += y[i];\n  return s;\n}\n"


@pytest.fixture
def actor(studio: Studio, browser: Browser) -> Iterator[Actor]:
    with opened(browser, studio.address) as found:
        yield found


@pytest.fixture(scope="module")
def slots(studio: Studio) -> str:
    """A mapping with more slots than can stand beside each other."""
    asked = {"source": "kernel:fir,taps=8", "arch": {"arch": "torus:2x2"}, "effort": 20000, "seed": 1}
    return str(studio.ended(studio.ask("map", asked)["id"])["result"])


def show(actor: Actor, mapping: str) -> None:
    actor.page.click(f"li[data-result='{mapping}'] button:text-is('Open') >> nth=0")
    actor.mapping()


def allow_bad_requests(actor: Actor) -> None:
    """Forget what the browser says of requests that the server refused, as it should."""
    actor.complaints[:] = [text for text in actor.complaints if "400 (Bad Request)" not in text]


def test_map_shows_the_search_before_the_server_has_answered(actor: Actor) -> None:
    held: list[object] = []
    actor.page.route("**/api/map", lambda route: held.append(route))
    actor.see("#map-button:not([disabled])")
    actor.click("#map-button")
    actor.see("#live:has-text('asking')")
    actor.until("() => parseFloat(document.querySelector('#live span').textContent.split('·')[1]) > 0.2")


def test_a_search_is_drawn_on_its_array_and_a_failure_says_why(actor: Actor) -> None:
    actor.choose("#file", "kernel:fir")
    actor.fill("#file-name", "kernel:fir,taps=32")
    actor.fill("#arch", "torus:6x6")
    actor.see("#arch-words:has-text('6 × 6')")
    actor.fill("#ii", "2")
    actor.fill("#effort", "400000")
    actor.click("#map-button")
    actor.see("#arch-picture .live-node")
    assert actor.page.locator("#arch-picture .live-used").count() > 10
    assert actor.actions < 10
    # Whatever comes of it, the page says so.
    actor.see("#live:has-text('no mapping'), .mapping")


def test_an_error_of_the_source_stands_at_its_line(actor: Actor) -> None:
    actor.fill("#editor", BAD_LOOP)
    actor.see(".code-line.bad:has-text('s += y[i];') .code-message:has-text('undeclared identifier')")
    words = {"code-type": "int", "code-key": "for", "code-number": "0", "code-call": "f"}
    for kind, text in words.items():
        assert text in actor.page.locator(f".colours .{kind}").all_inner_texts()
    assert actor.page.input_value("#editor") == BAD_LOOP
    assert actor.page.evaluate("document.querySelector('.colours').innerText.replace(/◂.*$/m, '').length > 80")
    allow_bad_requests(actor)


def test_an_array_that_is_wrong_is_not_drawn_and_says_where(actor: Actor) -> None:
    actor.see("#arch-picture svg")
    actor.fill("#arch", "nothing:4x4")
    actor.see("#arch-words.problem:has-text(\"no array family and no file is called 'nothing'\")")
    assert actor.page.locator("#arch-picture svg").count() == 0
    actor.fill("#arch", "torus:3x3")
    actor.see("#arch-picture svg")
    actor.click("#yaml-details summary")
    actor.fill("#yaml", "family: torus\nrows: 3\ncols: 3\nrowz: 2\n")
    actor.see("#yaml-details .code-line.bad:has-text('rowz: 2') .code-message:has-text('no such parameter')")
    allow_bad_requests(actor)


def test_one_slot_is_large_and_the_others_small(actor: Actor, slots: str) -> None:
    show(actor, slots)
    count = actor.page.locator("#array .panel").count()
    assert count > 2
    assert actor.page.locator("#array .panel.thumb").count() == count - 1
    actor.page.evaluate("document.querySelector(\"#array .panel[data-slot='2']\").dispatchEvent("
                        "new MouseEvent('click', {bubbles: true}))")  # fmt: skip
    actor.until("() => !document.querySelector(\"#array .panel[data-slot='2']\").classList.contains('thumb')")
    actor.click("#all")
    sizes = "[...document.querySelectorAll('#array .panel')].map(p => p.getBoundingClientRect().width)"
    widths = actor.page.evaluate(sizes)
    assert max(widths) > 2 * sorted(widths)[-2]


def test_stepping_begins_at_the_first_firing(actor: Actor, studio: Studio, slots: str) -> None:
    show(actor, slots)
    mapping = studio.session.mapping(slots).mapping
    timeless = {node.id for node in mapping.dfg.nodes if mapping.dfg.op(node.id).timeless}
    first = min(instance.cycle for instance in mapping.instances if instance.node not in timeless)
    actor.click("button[aria-label='One cycle forward']")
    actor.see("#moment:has-text('cycle')")
    assert actor.text("#moment").startswith(f"cycle {first} of")
    assert actor.page.locator("#array .node.on").count() > 0


def test_why_is_the_first_card_beside_the_array(actor: Actor, slots: str) -> None:
    show(actor, slots)
    box = actor.page.locator("#understand").bounding_box()
    assert box is not None and box["y"] + box["height"] < 950


def test_a_node_is_shown_in_both_pictures_of_a_comparison(studio: Studio, browser: Browser, slots: str) -> None:
    asked = {"source": "kernel:fir,taps=8", "arch": {"arch": "torus:2x2"}, "effort": 20000, "seed": 2}
    other = str(studio.ended(studio.ask("map", asked)["id"])["result"])
    with opened(browser, studio.address) as actor:
        for mapping in (slots, other):
            actor.click("#tab-write")
            actor.click(f"li[data-result='{mapping}'] button:text-is('Open') >> nth=0")
            actor.until("id => document.querySelector('.mapping[data-ready]')?.dataset.mapping === id", mapping)
        actor.click("#tab-compare")
        actor.click(".tall tr:first-child button")
        actor.until("() => document.querySelectorAll('.sides .node.because').length >= 2")
        assert actor.actions < 10


def test_the_list_of_arrays_has_no_other_files(studio: Studio) -> None:
    (studio.folder / "notes.yaml").write_text("hello: world\n", encoding="utf-8")
    names = [row["name"] for row in studio.ask("files") if row["kind"] == "array"]
    assert names == ["six-by-six.yaml"]


@pytest.mark.parametrize("dark", [False, True])
def test_every_text_has_the_contrast_of_wcag_aa(studio: Studio, browser: Browser, slots: str, dark: bool) -> None:
    with opened(browser, studio.address, dark=dark) as actor:
        for view in ("write", "explore", "compare", "mapping"):
            actor.page.click(f"#tab-{view}")
            actor.page.wait_for_timeout(200)
            assert actor.page.evaluate(CONTRAST) == [], view
        actor.page.click("#tab-write")
        actor.fill("#editor", BAD_LOOP)
        actor.see(".code-message")
        assert actor.page.evaluate(CONTRAST) == []
        show(actor, slots)
        assert actor.page.evaluate(CONTRAST) == []
        # A planted fault: the check finds what cannot be read.
        actor.page.evaluate("document.body.append(Object.assign(document.createElement('p'), {textContent: 'faint'}))")
        actor.page.evaluate("document.body.lastElementChild.style.color = 'rgb(128 128 128 / 0.5)'")
        assert [row[2] for row in actor.page.evaluate(CONTRAST)] == ["faint"]
        allow_bad_requests(actor)
