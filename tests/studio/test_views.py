"""What the page shows, without a server: runs of the user's data, exports, forms, scripts that can be joined."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from tests import hand_mappings as hand

from gridloom.archs import build
from gridloom.emit.report.bundle import bundle, drawing_modules
from gridloom.errors import OptionError
from gridloom.sim.trace.clocked import ClockedTrace
from gridloom.studio import page
from gridloom.studio.searches.forms import GALLERY, mapper_forms
from gridloom.studio.views.explain import explanation
from gridloom.studio.views.exports import run_as_perfetto, run_as_vcd
from gridloom.studio.views.opened import open_mapping
from gridloom.studio.views.scene import mapping_scene
from gridloom.studio.views.values import head, run_of, words


@pytest.mark.parametrize("name", hand.LEGAL)
def test_every_kind_of_array_has_a_scene_a_run_and_an_explanation(name: str) -> None:
    one = open_mapping(hand.LEGAL[name](), name)
    assert one.verdict == {"legal": True, "simulated": True}
    scene = mapping_scene(one)
    run = run_of(one.mapping, {"iterations": 4})
    told = head(run)
    assert json.dumps(scene) and json.dumps(told) and explanation(one)["verdict"]
    assert told["kind"] == ("tokens" if one.mapping.arch.style == "elastic" else "clocked")
    assert len(page.shared_page(scene, explanation(one), run, one.text)) > 10_000


def test_words_are_the_traces_own() -> None:
    run = run_of(hand.torus_rotating(), {"iterations": 5})
    assert isinstance(run.trace, ClockedTrace)
    values = np.frombuffer(words(run, "values", 2, 3), dtype="<i8").reshape(3, -1)
    assert (values == run.trace.values[2:5]).all()
    assert (np.frombuffer(words(run, "results"), dtype="<i8") == run.trace.results.ravel()).all()


def test_a_run_is_fed_with_what_the_user_gives() -> None:
    mapping = hand.mesh_fifo_2()
    stream = next(node.id for node in mapping.dfg.nodes if node.op == "input")
    run = run_of(mapping, {"iterations": 4, "data": {"streams": {stream: [5, 6, 7]}}})
    assert head(run)["fed"]["streams"][stream][:3] == [5, 6, 7]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"streams": {"nothing": [1]}}, "data.streams: the graph has no 'nothing'"),
        ({"elsewhere": {}}, 'expected an object with "streams", "liveins" and "memory"'),
        ({"liveins": [1]}, "data.liveins: expected an object, found list"),
    ],
)
def test_data_that_the_graph_does_not_take_is_refused(data: object, message: str) -> None:
    with pytest.raises(OptionError, match=re.escape(message)):
        run_of(hand.mesh_fifo_2(), {"data": data})


def test_vcd_has_every_wire_and_each_change_of_it() -> None:
    run = run_of(hand.mesh_fifo_2(), {"iterations": 4})
    text = run_as_vcd(run)
    assert text.startswith("$timescale 1 ns $end") and text.rstrip().endswith(f"#{run.trace.cycles}")
    assert len(re.findall(r"^\$var wire 32 ", text, re.M)) > 4


def test_perfetto_has_a_span_for_each_firing() -> None:
    run = run_of(hand.torus_rotating(), {"iterations": 4})
    assert isinstance(run.trace, ClockedTrace)
    events = json.loads(run_as_perfetto(run))["traceEvents"]
    assert sum(event["ph"] == "X" for event in events) == 4 * len(run.trace.compiled.configuration.slots)
    assert json.loads(run_as_perfetto(run_of(hand.rdu_two_stages(), {})))["traceEvents"]


def test_every_setting_of_every_mapper_of_the_gallery_is_explained() -> None:
    for name in GALLERY:
        for form in mapper_forms(build(name)):
            for field in form["fields"]:
                assert field["help"], f"{form['name']}.{field['name']} on {name}"


def test_the_modules_of_the_page_can_be_joined() -> None:
    modules = {**drawing_modules(), **page.modules()}
    for entry in ("main.js", "shared.js"):
        script = bundle(entry, modules)
        assert "import {" not in script and "export " not in re.sub(r'"[^"]*"', "", script)
    assert set(page.modules()) & set(drawing_modules()) == set(), "names are unique, since they are joined by name"


def test_modules_that_cannot_be_joined_are_refused() -> None:
    with pytest.raises(ValueError, match=r"a\.js imports b\.js, which is not there"):
        bundle("a.js", {"a.js": 'import { x } from "./b.js";\n'})
    circle = {"a.js": 'import { x } from "./b.js";\n', "b.js": 'import { y } from "./a.js";\n'}
    with pytest.raises(ValueError, match="import each other"):
        bundle("a.js", circle)
    with pytest.raises(ValueError, match="cannot be joined: export default 1"):
        bundle("a.js", {"a.js": "export default 1;\n"})
