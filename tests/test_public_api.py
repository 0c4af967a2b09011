"""The public Python API: what `import gridloom as gl` offers, and that each name is real and explained."""

from __future__ import annotations

import dataclasses
import inspect
import json
import pydoc
import re
from importlib import metadata
from pathlib import Path

import pytest
from tests import public_api

import gridloom
import gridloom as gl
from gridloom import registry
from gridloom._version import __version__


def test_all_is_sorted_and_without_repeats():
    assert gridloom.__all__ == sorted(set(gridloom.__all__), key=lambda name: (not name[0].isupper(), name))


def test_every_public_name_resolves():
    missing = [name for name in gridloom.__all__ if not hasattr(gridloom, name)]
    assert missing == []


def test_every_public_name_is_listed_by_dir():
    assert set(gridloom.__all__) <= set(dir(gridloom))


def test_every_public_function_and_class_has_a_docstring_of_its_own():
    public = {name: getattr(gridloom, name) for name in gridloom.__all__}
    described = {name: item for name, item in public.items() if inspect.isclass(item) or callable(item)}
    generated = {name for name, item in described.items() if (item.__doc__ or "").startswith(f"{name}(")}
    assert sorted(generated | {name for name, item in described.items() if not item.__doc__}) == []


def test_what_is_stable_is_still_there():
    stored = json.loads(public_api.STORED.read_text(encoding="utf-8"))
    assert public_api.lost(stored, public_api.offered()) == [], "docs/reference/stability.md says how a name may go"


def test_what_is_new_is_stable_from_now_on():
    stored = json.loads(public_api.STORED.read_text(encoding="utf-8"))
    assert public_api.lost(public_api.offered(), stored) == [], "python -m tests.public_api adds it"


def test_a_lost_name_and_a_lost_parameter_are_found():
    assert public_api.lost({"gl.map": ["arch", "seed"], "gl.old": []}, {"gl.map": ["arch"]}) == [
        "gl.old",
        "gl.map: seed",
    ]


def test_everything_visible_is_in_all():
    visible = {
        name
        for name, item in vars(gridloom).items()
        if not name.startswith("_") and not inspect.ismodule(item) and name != "annotations" and name != "TYPE_CHECKING"
    }
    assert visible - set(gridloom.__all__) == set()


def test_unknown_name_is_an_attribute_error_that_names_it():
    with pytest.raises(AttributeError, match="no_such_thing"):
        gridloom.no_such_thing  # noqa: B018


def test_version_is_written_once():
    assert gridloom.__version__ == __version__ == metadata.version("gridloom")


def test_command_line_entry_point_is_callable():
    (entry,) = metadata.entry_points(group="console_scripts", name="gridloom")
    assert entry.value == "gridloom.cli:run"
    assert callable(entry.load())


def test_types_are_shipped():
    assert (Path(inspect.getfile(gridloom)).parent / "py.typed").exists()


# -- the functions --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mapped() -> gl.Result:
    return gl.map("kernel:vector_add", "mesh:2x2", effort=20_000)


@pytest.fixture(scope="module")
def failed() -> gl.Result:
    return gl.map("kernel:distance", "mesh:2x2")


@gl.kernel
def scaled(x: gl.Array[gl.int32], y: gl.Array[gl.int32], n: gl.int32):
    for i in gl.loop(n):
        y[i] = 3 * x[i] + 1


def test_options_of_map_are_the_fields_of_a_request_with_the_same_defaults():
    offered = {
        name: parameter.default
        for name, parameter in inspect.signature(gl.map).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    fields = {
        field.name: field.default for field in dataclasses.fields(gl.Request) if field.name not in ("source", "arch")
    }
    # A limit in CPU time is a limit of its own here.
    assert not fields.pop("cpu_time")
    assert offered == {**fields, "settings": None, "cpu_limit": None}


def test_help_of_map_explains_every_option():
    text = pydoc.render_doc(gl.map, renderer=pydoc.plaintext)
    assert text.splitlines()[2].startswith("map(source: ")
    documented = set(re.findall(r"^    (\w+): ", text, flags=re.MULTILINE))
    assert documented == set(inspect.signature(gl.map).parameters)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(scaled, id="a decorated function"),
        pytest.param(registry.load("kernels", "vector_add"), id="a built-in kernel"),
        pytest.param(gl.kernel("vector_add"), id="a graph"),
    ],
)
@pytest.mark.parametrize("arch", ["mesh:3x3", "torus:2x2"])
def test_whatever_has_a_graph_can_be_mapped(source, arch):
    assert gl.map(source, arch, effort=20_000).status == "mapped"


def test_whatever_has_a_graph_can_be_loaded_and_shown():
    builder = gl.DfgBuilder("one")
    builder.output(builder.input("x"), "y")
    assert gl.load(builder).name == "one"
    assert gl.load(scaled).name == "scaled"
    assert gl.show(scaled).svg.startswith("<svg")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (3, "expected a graph, a kernel, a file or kernel:NAME, found a int"),
        (lambda x: x, "found a function; decorate the function with @gridloom.kernel"),
    ],
)
def test_what_has_no_graph_is_refused(source, message):
    with pytest.raises(gl.GridloomError, match=re.escape(message)):
        gl.map(source, "mesh:2x2")


def test_results_are_taken_where_mappings_are(mapped, tmp_path):
    assert gl.check(mapped) == gl.check(mapped.mapping) == []
    assert gl.measure(mapped) == gl.measure(mapped.mapping)
    assert gl.simulate(mapped, iterations=8).ok
    gl.save(mapped, tmp_path / "m.json")
    assert gl.load_mapping(tmp_path / "m.json").instances == mapped.mapping.instances
    assert gl.show(mapped).svg == gl.show(mapped.mapping).svg


@pytest.mark.parametrize("use", [gl.check, gl.measure, gl.simulate, gl.show], ids=lambda use: use.__name__)
def test_result_without_a_mapping_says_why_there_is_none(failed, use):
    with pytest.raises(gl.GridloomError, match="the result has no mapping: tiles: needs 15 tiles, has 4 on mesh:2x2"):
        use(failed)


def test_ending_of_a_saved_file_says_what_is_written(mapped, failed, tmp_path):
    for name in ("a.svg", "a.html", "a.json"):
        gl.save(mapped, tmp_path / name)
    gl.save(mapped.mapping, tmp_path / "mapping.html")
    gl.save(failed, tmp_path / "failed.html")
    begins = {path.name: path.read_text(encoding="utf-8")[:15] for path in tmp_path.iterdir()}
    assert begins["a.svg"].startswith("<svg") and begins["a.json"].startswith("{")
    assert {begins[name] for name in ("a.html", "mapping.html", "failed.html")} == {"<!DOCTYPE html>"}


def test_every_noun_is_one_short_line(mapped, failed):
    assert repr(mapped) == "<Result mapped: vector_add on mesh:2x2 with anneal, seed 0, II 1>"
    assert repr(failed) == "<Result failed: distance on mesh:2x2 with anneal, seed 0: tiles>"
    assert repr(mapped.dfg) == "<Dfg vector_add: 4 nodes, 3 edges, domain i32>"
    assert repr(mapped.arch) == "<Arch mesh:2x2: static, 2 x 2, 4 tiles>"
    assert repr(mapped.mapping) == "<Mapping of vector_add on mesh:2x2: II 1, 4 instances, 3 routes>"


def test_notebooks_get_pictures_and_a_table(mapped, failed):
    for noun in (mapped.dfg, mapped.arch, mapped.mapping, gl.show("kernel:fir"), gl.show("mesh:2x2")):
        assert noun._repr_svg_().startswith("<svg")
    assert "<th>latency</th>" in mapped._repr_html_() and "<svg" in mapped._repr_html_()
    assert "<th>would help</th><td>6 rows more, 6 columns more</td>" in failed._repr_html_()


def test_picture_is_printed_as_a_terminal_shows_it():
    text = str(gl.show("mesh:2x2"))
    assert text.startswith("mesh:2x2\n") and "\x1b" not in text


def test_names_are_those_of_the_registry():
    assert list(gl.names("mappers")) == registry.names("mappers")
    with pytest.raises(gl.GridloomError, match="there is no list of 'mapper'"):
        gl.names("mapper")
