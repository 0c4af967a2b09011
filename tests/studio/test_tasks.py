"""Seven tasks at the studio's page, each in fewer than ten actions, and what the page has to be besides."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.studio.actor import MOST_ACTIONS, Actor, opened
from tests.studio.conftest import Studio

import gridloom as gl
from gridloom.dfg.interpreter import Interpreter
from gridloom.sim.execute import Execution
from gridloom.sim.trace.clocked import ClockedTrace

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

LOOP = """int f(const int *x, int *y, int n) {
  int s = 0;
  for (int i = 0; i < n; i++) {
    s = (s + x[i]) * 3;
    y[i] = s;
  }
  return s;
}
"""


@pytest.fixture
def actor(studio: Studio, browser: Browser) -> Iterator[Actor]:
    with opened(browser, studio.address) as found:
        yield found


@pytest.fixture(scope="module")
def sums(studio: Studio) -> str:
    """The mapping of a small recurrence, made once."""
    asked = {"source": "loop.c:f", "text": LOOP, "arch": {"arch": "torus:3x3"}, "effort": 20000, "seed": 1}
    return str(studio.ended(studio.ask("map", asked)["id"])["result"])


def show(actor: Actor, mapping: str) -> None:
    """Open a mapping as a click on its search would."""
    actor.page.click(f"li[data-result='{mapping}'] button:text-is('Open') >> nth=0")
    actor.until("id => document.querySelector('.mapping[data-ready]')?.dataset.mapping === id", mapping)


def test_write_a_loop_and_map_it(actor: Actor) -> None:
    actor.fill("#editor", LOOP)
    actor.see("#loops li label:has-text('loop.c:f')")
    actor.fill("#arch", "torus:3x3")
    actor.see("#arch-words:has-text('3 × 3')")
    actor.fill("#effort", "20000")
    actor.click("#map-button")
    actor.mapping()
    assert actor.text(".verdict").split() == ["✓", "legal", "✓", "simulated"]
    assert actor.actions <= MOST_ACTIONS


def test_step_to_a_value(actor: Actor, studio: Studio, sums: str) -> None:
    show(actor, sums)
    trace = studio.session.runs.find(str(next(reversed(studio.session.runs._things))))
    assert trace is not None and isinstance(trace.trace, ClockedTrace)
    y = trace.trace.outcome.observation
    wanted = int(y.memory["y"][2])
    actor.fill("#breakpoint", f"value = {wanted}")
    actor.press("#breakpoint", "Enter")
    seen = "text => [...document.querySelectorAll('[data-value-of]')].some(v => v.dataset.text === text)"
    actor.until(seen, str(wanted))
    assert actor.text("#moment").startswith("cycle ")
    assert actor.actions <= MOST_ACTIONS


def test_step_to_a_node_in_an_iteration_and_back(actor: Actor, sums: str) -> None:
    show(actor, sums)
    node = actor.page.get_attribute("#array .node[data-n]", "aria-label").split(":")[0]
    actor.fill("#breakpoint", f"node {node} in iteration 3")
    actor.press("#breakpoint", "Enter")
    actor.see("#moment:has-text('cycle')")
    there = actor.text("#moment")
    actor.click("button[aria-label='One cycle forward']")
    actor.until("was => document.querySelector('#moment').value !== was", there)
    actor.press("#breakpoint", "Shift+Enter")
    actor.until("was => document.querySelector('#moment').value === was", there)


def test_find_why_the_ii_is_above_the_resource_bound(studio: Studio, browser: Browser) -> None:
    asked = {"source": "iir.c", "arch": {"arch": "torus:4x4"}, "effort": 20000}
    mapping = str(studio.ended(studio.ask("map", asked)["id"])["result"])
    # A page that is open while a search ends goes to its mapping by itself; this one is opened later.
    with opened(browser, studio.address) as actor:
        show(actor, mapping)
        assert "the recurrence" in actor.text("#why-verdict")
        actor.click("#bounds li.binding button")
        actor.see("#graph .edge.hot")
        marked = actor.page.locator("#array .node.because").count()
        assert marked >= 2
        assert actor.actions <= MOST_ACTIONS


def test_pin_a_node_and_map_the_rest_around_it(actor: Actor, studio: Studio, sums: str) -> None:
    show(actor, sums)
    actor.click("#array .node[data-n='0']")
    node = actor.text("#chosen-node")
    place = studio.session.mapping(sums).mapping.copies[node][0].place
    other = next(tile.name for tile in studio.session.mapping(sums).mapping.arch.tiles if tile.name != place)
    actor.choose("#move-tile", other)
    actor.click("#move")
    moved = actor.mapping(sums)
    actor.click("#pin")
    actor.click("#finish")
    finished = actor.mapping(moved)
    mapping = studio.session.mapping(finished).mapping
    assert mapping.copies[node][0].place == other
    assert "legal" in actor.text(".verdict") and not gl.check(mapping)
    actor.click("#undo")
    assert actor.mapping(finished) == moved
    assert actor.actions <= MOST_ACTIONS


def test_a_dragged_node_is_checked_at_once_and_saved(actor: Actor, studio: Studio, sums: str) -> None:
    show(actor, sums)
    actor.page.evaluate("scrollTo(0, 0)")
    before = studio.session.mapping(sums).mapping
    tile = next(t for t, tile in enumerate(before.arch.tiles) if tile.name != before.instances[0].place)
    node = actor.page.locator("#array .node[data-n='0']")
    slot = node.evaluate("item => item.closest('.panel').dataset.slot")
    actor.drag("#array .node[data-n='0'] rect", f"#array .panel[data-slot='{slot}'] [data-t='{tile}']")
    moved = actor.mapping(sums)
    mapping = studio.session.mapping(moved).mapping
    assert mapping.instances[0].place == before.arch.tiles[tile].name
    found = gl.check(mapping)
    shown = actor.page.locator("#violations li").all_inner_texts()
    assert shown == [str(violation) for violation in found]
    actor.click("#save")
    actor.fill("#ask-field", "by-hand.json")
    actor.click("#ask-yes")
    actor.see("#status:has-text('saved by-hand.json')")
    assert gl.check(studio.folder / "by-hand.json") == found


def test_compare_two_arrays(actor: Actor, studio: Studio, sums: str) -> None:
    show(actor, sums)
    actor.click("#tab-write")
    actor.fill("#editor", LOOP)
    actor.fill("#arch", "torus:2x2")
    actor.see("#arch-words:has-text('2 × 2')")
    actor.fill("#effort", "20000")
    actor.click("#map-button")
    actor.mapping(sums)
    actor.click("#tab-compare")
    actor.see("#figures tr.differs")
    assert "II" in actor.text("#figures")
    assert actor.page.locator(".sides .picture svg").count() == 2
    assert actor.page.locator(".node.differs").count() > 0
    assert actor.actions <= MOST_ACTIONS


def test_share_a_file_that_opens_offline(actor: Actor, browser: Browser, sums: str, tmp_path: Path) -> None:
    show(actor, sums)
    with actor.page.expect_download() as waiting:
        actor.click("#share")
    shared = tmp_path / "shared.html"
    waiting.value.save_as(shared)
    assert actor.actions <= MOST_ACTIONS
    with opened(browser, shared.as_uri()) as reader:
        requested: list[str] = []
        reader.page.on("request", lambda request: requested.append(request.url))
        reader.fill("#breakpoint", "cycle 6")
        reader.press("#breakpoint", "Enter")
        reader.see("#array [data-value-of]")
        assert "Why II" in reader.text("#understand")
        assert requested == []


def test_exports_are_what_other_tools_read(actor: Actor, sums: str, tmp_path: Path) -> None:
    show(actor, sums)
    for button, check in (
        ("#export-vcd", lambda text: "$enddefinitions" in text),
        ("#export-perfetto", lambda text: json.loads(text)["traceEvents"]),
    ):
        with actor.page.expect_download() as waiting:
            actor.click(button)
        waiting.value.save_as(tmp_path / "export")
        assert check((tmp_path / "export").read_text(encoding="utf-8"))


# -- values -----------------------------------------------------------------------------------------------------------


SLIDE = """cycle => {
  const slider = document.querySelector('#cycle');
  slider.value = cycle;
  slider.dispatchEvent(new Event('input'));
}"""
SHOWN = "[...document.querySelectorAll('#array [data-value-of]')].map(v => [v.dataset.valueOf, v.dataset.text])"


def probes(actor: Actor, studio: Studio, mapping: str, count: int, seed: int) -> int:
    """Compare values on the page with the simulator at random cycles; returns how many were compared."""
    show(actor, mapping)
    key = str(actor.page.evaluate("document.querySelector('.mapping').dataset.mapping"))
    shown_mapping = studio.session.mapping(key).mapping
    run = next(run for run in reversed(studio.session.runs._things.values()) if run.mapping is shown_mapping)
    assert isinstance(run.trace, ClockedTrace)
    compiled, stimulus = run.trace.compiled, run.trace.stimulus
    expected = Interpreter(run.mapping.dfg).run(stimulus)
    draw = random.Random(seed)
    done = 0
    while done < count:
        cycle = draw.randrange(run.trace.cycles)
        fresh = Execution(compiled, stimulus)
        fresh.advance(cycle + 1)
        rows = fresh.row_values()
        actor.page.evaluate(SLIDE, cycle)
        actor.until("cycle => document.querySelector('#moment').value.startsWith(`cycle ${cycle} of`)", cycle)
        actor.page.wait_for_timeout(20)
        for name, text in actor.page.evaluate(SHOWN):
            kind, number = name.split(":")
            if kind == "wire":
                found = [int(rows[k]) for k, row in enumerate(compiled.rows) if row == int(number)]
            else:
                instance = run.mapping.instances[int(number)]
                firing = (cycle - instance.cycle) // run.mapping.ii
                found = [int(expected.values[firing, run.mapping.dfg.index[instance.node]])]
            assert [text] == [str(value) for value in found], (cycle, name)
            done += 1
    return done


@pytest.mark.parametrize(("count", "seed"), [(200, 1), pytest.param(1000, 2, marks=pytest.mark.slow)])
def test_values_on_the_page_are_those_of_the_simulator(
    actor: Actor, studio: Studio, sums: str, count: int, seed: int
) -> None:
    assert probes(actor, studio, sums, count, seed) >= count


def test_memory_and_registers_are_those_of_the_simulator(actor: Actor, studio: Studio, sums: str) -> None:
    show(actor, sums)
    run = next(reversed(studio.session.runs._things.values()))
    assert isinstance(run.trace, ClockedTrace)
    cycle = run.trace.cycles - 2
    actor.fill("#breakpoint", f"cycle {cycle}")
    actor.press("#breakpoint", "Enter")
    actor.see("#memory li.changed, #memory li")
    fresh = Execution(run.trace.compiled, run.trace.stimulus)
    fresh.advance(cycle + 1)
    for name, (first, length) in run.trace.compiled.arrays.items():
        shown = [actor.text(f"[data-word='{name}:{k}']") for k in range(min(length, 20))]
        assert shown == [str(int(word)) for word in fresh.memory[first : first + 20]]
    assert np.array_equal(fresh.row_values(), run.trace.values[cycle])


def test_a_run_takes_the_users_own_data(actor: Actor, sums: str) -> None:
    show(actor, sums)
    actor.click("summary:has-text('Your own data')")
    actor.fill("#data-text", json.dumps({"memory": {"x": [7, 7, 7, 7, 7, 7, 7, 7]}}))
    actor.click("#run-again")
    actor.mapping()
    actor.fill("#breakpoint", "value = 21")
    actor.press("#breakpoint", "Enter")
    actor.until("() => [...document.querySelectorAll('[data-value-of]')].some(v => v.dataset.text === '21')")


# -- the page itself --------------------------------------------------------------------------------------------------


def test_names_with_markup_run_nothing(studio: Studio, browser: Browser) -> None:
    from tests.emit.picture.test_pictures import hostile_mapping

    from gridloom.mapping import json_format

    (studio.folder / "hostile.json").write_text(json_format.dumps(hostile_mapping()), encoding="utf-8")
    key = studio.ask("open", {"name": "hostile.json"})["id"]
    studio.session.start = {"view": "mapping", "mapping": key}
    try:
        with opened(browser, studio.address) as actor:
            actor.mapping()
            assert actor.page.locator("script:not([src])").count() == 0
            assert actor.page.evaluate("typeof window.pwned") == "undefined"
            with actor.page.expect_download() as waiting:
                actor.click("#share")
            waiting.value.save_as(studio.folder / "hostile.html")
        with opened(browser, (studio.folder / "hostile.html").as_uri()) as reader:
            reader.see(".mapping")
    finally:
        studio.session.start = {}


def test_python_is_executed_only_after_a_click_that_says_so(actor: Actor, studio: Studio) -> None:
    actor.choose("#file", "kernels.py")
    actor.see("#loops li:has-text('kernels.py:scale')")
    actor.click("#map-button")
    assert "executes the file" in actor.text("#ask-text")
    actor.click("#ask-no")
    actor.see("#map-problem:has-text('was not executed')")
    assert not (studio.folder / "kernels.ran").exists()
    actor.click("#map-button")
    actor.click("#ask-yes")
    actor.see("li[data-job]:first-child:has-text('kernels.py') .state:not(.running):not(.queued)")
    assert (studio.folder / "kernels.ran").exists()


def test_everything_works_by_keyboard(actor: Actor, sums: str) -> None:
    show(actor, sums)
    actor.page.locator("#view").focus()
    actor.page.keyboard.press("n")
    actor.page.keyboard.press("n")
    actor.until("() => document.querySelector('#moment').value.startsWith('cycle 1 of')")
    actor.page.keyboard.press("p")
    actor.until("() => document.querySelector('#moment').value.startsWith('cycle 0 of')")
    actor.page.locator("#array .node[tabindex='0']").focus()
    actor.page.keyboard.press("ArrowRight")
    actor.page.keyboard.press("Enter")
    actor.see("#array .node.core")
    actor.page.locator("#tab-mapping").focus()
    actor.page.keyboard.press("ArrowRight")
    actor.see("#tab-compare[aria-selected='true']")


def test_every_control_has_a_name_for_screen_readers(actor: Actor, sums: str) -> None:
    show(actor, sums)
    nameless = """() => [...document.querySelectorAll('button, input, select, textarea, canvas')].filter(item =>
        !item.getAttribute('aria-label') && !item.textContent.trim() && !item.closest('label')
        && !item.getAttribute('title')).map(item => item.outerHTML)"""
    assert actor.page.evaluate(nameless) == []
    actor.click("#tab-write")
    assert actor.page.evaluate(nameless) == []


@pytest.mark.parametrize(
    ("width", "dark"),
    [(390, True), pytest.param(390, False, marks=pytest.mark.slow), pytest.param(1440, True, marks=pytest.mark.slow)],
)
def test_phones_and_dark_windows_have_no_sideways_scrolling(
    studio: Studio, browser: Browser, sums: str, width: int, dark: bool
) -> None:
    with opened(browser, studio.address, width=width, dark=dark) as actor:
        for tab in ("write", "mapping", "compare", "explore"):
            if tab == "mapping":
                actor.page.click("#tab-write")
                show(actor, sums)
            actor.page.click(f"#tab-{tab}")
            actor.page.wait_for_timeout(150)
            assert actor.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), tab
