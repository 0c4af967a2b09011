"""The report in headless Chromium: no errors, the slider moves things, pointing at things explains them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests import hand_mappings as hand
from tests.emit.picture.test_pictures import hostile_mapping
from tests.emit.report.test_failure_page import failed
from tests.emit.report.test_page import report
from tests.page_wait import wait_until

from gridloom.dfg.model import DfgBuilder
from gridloom.mapping import Mapping, json_format

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opener]:
    opener = Opener(browser, tmp_path)
    yield opener
    for page in opener.pages:
        page.close()
    assert opener.complaints == []


class Opener:
    """Opens reports and collects what the browser complains about."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.browser = browser
        self.folder = folder
        self.pages: list[Page] = []
        self.complaints: list[str] = []

    def __call__(self, mapping: Mapping, *, dark: bool = False, width: int = 1300) -> Page:
        return self.show(report(mapping), dark=dark, width=width)

    def show(self, text: str, *, dark: bool = False, width: int = 1300) -> Page:
        path = self.folder / f"report-{len(self.pages)}.html"
        path.write_text(text, encoding="utf-8")
        page = self.browser.new_page(
            viewport={"width": width, "height": 1000}, color_scheme="dark" if dark else "light", accept_downloads=True
        )
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self._requested(request.url))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        page.goto(path.as_uri())
        self.pages.append(page)
        return page

    def _requested(self, url: str) -> None:
        if not url.startswith(("file:", "blob:")):
            self.complaints.append(f"fetched {url}")


def slide(page: Page, value: int) -> None:
    page.locator("#time").focus()
    page.keyboard.press("Home")
    for _ in range(value):
        page.keyboard.press("ArrowRight")


def active(page: Page) -> list[str]:
    return page.locator("#array .node.on").evaluate_all("nodes => nodes.map(n => n.getAttribute('aria-label'))")


@pytest.mark.parametrize("name", hand.LEGAL)
def test_every_family_opens_without_a_complaint(opened: Opener, name: str) -> None:
    page = opened(hand.LEGAL[name]())
    assert page.locator("#array .node").count() > 0
    assert page.locator("#graph .node").count() > 0
    box = page.locator("#array svg").bounding_box()
    assert box is not None and box["width"] > 200 and box["height"] > 100


def test_the_slider_shows_what_issues_in_a_cycle(opened: Opener) -> None:
    mapping = hand.mesh_fifo_2()
    page = opened(mapping)
    assert page.locator("#time-text").inner_text() == "all"
    for cycle in sorted({instance.cycle for instance in mapping.instances}):
        slide(page, cycle)
        expected = [i for i in mapping.instances if i.cycle == cycle]
        assert len(active(page)) == len(expected)
        assert all(any(f"{i.node}: " in text for text in active(page)) for i in expected)
        assert page.locator("#time-text").inner_text().startswith(f"{cycle} of ")
    page.locator("#all").click()
    assert active(page) == []
    assert page.locator("#time-text").inner_text() == "all"


def test_the_first_step_of_the_slider_leaves_the_overview(opened: Opener) -> None:
    page = opened(hand.mesh_fifo_2())
    page.locator("#time").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#time-text").inner_text().startswith("1 of ")


def test_the_slider_shows_one_slot_of_a_modulo_mapping(opened: Opener) -> None:
    page = opened(hand.torus_rotating())
    whole = page.locator("#array svg").get_attribute("viewBox")
    assert page.locator("#array .panel:visible").count() == 2
    slide(page, 1)
    assert page.locator("#array .panel:visible").count() == 1
    assert page.locator("#array svg").get_attribute("viewBox") != whole
    page.locator("#all").click()
    assert page.locator("#array svg").get_attribute("viewBox") == whole


def test_play_moves_the_slider_and_stops(opened: Opener) -> None:
    page = opened(hand.mesh_fifo_2())
    assert page.locator("#play").inner_text() == "▶ Play"
    page.locator("#play").click()
    assert page.locator("#play").inner_text() == "❚❚ Pause"
    for _ in range(50):
        if page.locator("#time").input_value() != "0":
            break
        page.wait_for_timeout(100)
    assert page.locator("#time").input_value() != "0"
    page.locator("#play").click()
    assert page.locator("#play").inner_text() == "▶ Play"
    stopped = page.locator("#time").input_value()
    page.wait_for_timeout(900)
    assert page.locator("#time").input_value() == stopped


def test_at_ii_1_a_modulo_array_plays_the_cycles_of_an_iteration(opened: Opener) -> None:
    b = DfgBuilder("pair", "i32")
    b.add("neg", b.add("neg", b.const(3), id="first"), id="second")
    hops = (("pe_0_0.out", 1), ("pe_0_0>pe_0_1", 1), ("pe_0_1.in0", 1))
    nodes = {"first": ("pe_0_0", 0), "second": ("pe_0_1", 1)}
    page = opened(hand.make(b.build(), "torus:2x2,regs=2", 1, nodes, {("first", "second", 0): (hops, 0)}))
    assert page.locator("#all").inner_text() == "All cycles"
    slide(page, 1)
    assert page.locator("#array .node.on").get_attribute("data-g") == "2"
    assert page.locator("#array .panel").is_visible()


def test_slots_stand_below_each_other_on_a_phone_and_side_by_side_on_a_desk(opened: Opener) -> None:
    page = opened(hand.torus_spill(), width=390)
    first, second = (page.locator(f'.panel[data-slot="{k}"]').bounding_box() for k in (0, 1))
    assert first and second
    assert second["y"] >= first["y"] + first["height"] - 1 and abs(second["x"] - first["x"]) < 2
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    slide(page, 1)
    assert page.locator('.panel[data-slot="0"]').is_hidden() and page.locator('.panel[data-slot="1"]').is_visible()
    page.locator("#all").click()
    page.set_viewport_size({"width": 1300, "height": 1000})
    wide = "() => document.querySelector('.panel[data-slot=\"1\"]').dataset.box.split(' ')[0] > 20"
    wait_until(page, wide)
    first, second = (page.locator(f'.panel[data-slot="{k}"]').bounding_box() for k in (0, 1))
    assert first and second and abs(second["y"] - first["y"]) < 2


def test_pointing_at_a_node_explains_it_and_lights_it_up_in_both_pictures(opened: Opener) -> None:
    mapping = hand.mesh_fifo_2()
    page = opened(mapping)
    instance = mapping.instances[-2]
    number = mapping.dfg.index[instance.node]
    assert page.locator("#tip").is_hidden()
    page.locator(f'#array .node[data-g="{number}"]').hover()
    text = page.locator("#tip").inner_text()
    assert instance.node in text and instance.place in text and f"cycle {instance.cycle}" in text
    assert "operand 0" in text
    assert page.locator("#graph .node.core").get_attribute("data-g") == str(number)
    page.mouse.move(2, 2)
    assert page.locator("#tip").is_hidden()
    page.locator(f'#graph .node[data-g="{number}"]').hover()
    assert page.locator("#array .node.core").get_attribute("data-g") == str(number)


def test_pointing_at_a_wire_names_the_link_and_its_signal(opened: Opener) -> None:
    mapping = hand.mesh_fifo_2()
    page = opened(mapping)
    link = next(hop for route in mapping.routes for hop, _ in route.hops if ">" in hop)
    number = mapping.arch.resource_index[link]
    page.locator(f'#array .wire[data-r="{number}"]').last.dispatch_event("pointermove")
    text = page.locator("#tip").inner_text()
    assert link in text and "carries" in text and "at cycle" in text


def test_heat_maps_are_switched_on_and_off(opened: Opener) -> None:
    page = opened(hand.mesh_fifo_2())
    layers = {name: page.locator(f"#array .heat-{name} rect").first for name in ("fifo", "congestion")}
    assert [layer.is_visible() for layer in layers.values()] == [False, False]
    page.check("input[value=fifo]")
    assert [layer.is_visible() for layer in layers.values()] == [True, False]
    page.check("input[value=congestion]")
    assert [layer.is_visible() for layer in layers.values()] == [False, True]
    page.check("input[value=none]")
    assert [layer.is_visible() for layer in layers.values()] == [False, False]


def test_the_keyboard_reaches_every_node(opened: Opener) -> None:
    mapping = hand.mesh_fifo_2()
    page = opened(mapping)
    page.locator("#array .node[tabindex='0']").focus()
    seen = set()
    for _ in mapping.instances:
        page.keyboard.press("ArrowRight")
        seen.add(page.evaluate("document.activeElement.getAttribute('aria-label')"))
        assert page.locator("#tip").is_visible()
    assert len(seen) == len(mapping.instances)
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()


def test_the_mapping_is_downloaded(opened: Opener) -> None:
    mapping = hand.torus_spill()
    page = opened(mapping)
    with page.expect_download() as download:
        page.locator("#download").click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert json.loads(text) == json.loads(json_format.dumps(mapping))
    assert download.value.suggested_filename.endswith(".json")


def test_dark_readers_get_a_dark_page(opened: Opener) -> None:
    def brightness(page: Page) -> int:
        colour = page.locator("#array .paper").evaluate("item => getComputedStyle(item).fill")
        return sum(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(","))

    assert brightness(opened(hand.mesh_local())) > 700
    assert brightness(opened(hand.mesh_local(), dark=True)) < 150


def test_hostile_names_run_nothing(opened: Opener) -> None:
    mapping = hostile_mapping()
    page = opened(mapping)
    assert page.locator("script").count() == 3
    page.locator("#array .node").first.hover()
    assert "<script>alert(1)</script>" in page.locator("#tip").inner_text()
    assert page.locator("#tip script").count() == 0


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_of_a_failure_fits_the_window(opened: Opener, width: int, dark: bool) -> None:
    page = opened.show(failed("mesh:3x3", ("pe_0_0>pe_0_1", "pe_1_1.fu")), dark=dark, width=width)
    assert page.locator("#array .congested").count() == 2
    assert page.evaluate("document.documentElement.scrollWidth") <= width
