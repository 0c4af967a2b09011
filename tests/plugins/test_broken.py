"""A plug-in that does not work is refused in one line, and everything else works as if it were not installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.plugins.packages import GOOD, install

import gridloom as gl
from gridloom import plugins, registry

HEAD = "from gridloom.registry import ArrayKind, Command, Entry, Mapper, Reader, Target\n"


def target(fields: str) -> str:
    return f'{HEAD}TARGET = Target(name="bad", summary="", {fields})\n'


BROKEN = {
    "no such attribute": ("", "it cannot be imported: AttributeError: module 'bad_plugin' has no attribute 'TARGET'"),
    "no Python": ("def", "it cannot be imported: SyntaxError: invalid syntax (bad_plugin.py, line 1)"),
    "an import that fails": ("import no_such_package_here",
                             "it cannot be imported: ModuleNotFoundError: No module named 'no_such_package_here'"),
    "an import that exits": ("raise SystemExit(3)", "it cannot be imported: SystemExit: 3"),
    "an error of two lines": ("raise ValueError('one\\n two')", "it cannot be imported: ValueError: one two"),
    "no Target": ("TARGET = {'name': 'bad'}", "bad_plugin:TARGET is a dict; expected a gridloom.registry.Target"),
    "a kernel of ours": (target('kernels={"fir": Entry("a:b", "")}'), "kernel 'fir' is there already"),
    "a mapper of ours": (target('mappers={"anneal": Mapper({"grid": "a:b"}, "")}'),
                         "mapper 'anneal' for arrays of kind 'grid' is there already"),
    "a mapper for every kind": (target('mappers={"trees": Mapper({"*": "a:b"}, "")}'),
                                "mapper 'trees' for arrays of kind '*' is there already"),
    "a command of a target": (target('commands={"vpr": Command("a:b", "")}'), "command 'vpr' is there already"),
    "a command of cli": (target('commands={"map": Command("a:b", "")}'), "command 'map' is there already"),
    "a kind of ours": (target('kinds={"grid": ArrayKind("static", (), "")}'), "kind 'grid' is there already"),
    "a hook of ours": (target('hooks={"machines": {"elastic": "a:b"}}'), "hook machines 'elastic' is there already"),
    "no such hook": (target('hooks={"hoook": {"grid": "a:b"}}'),
                     "there is no hook 'hoook'; known: " + ", ".join(registry.HOOKS)),
    "an ending of ours": (target('readers={"r": Reader("a:b", "", endings=(".dot",))}'),
                          "ending '.dot': files that end in '.dot' have a built-in reader"),
    "an ending that ours hides": (target('readers={"r": Reader("a:b", "", endings=("_x.txt",))}'),
                                  "ending '_x.txt': files that end in '.txt' have a built-in reader"),
    "an empty ending": (target('readers={"r": Reader("a:b", "", endings=("",))}'),
                        "ending '': expected the end of a file name, such as .graph"),
    "another record": (target('readers={"r": Entry("a:b", "")}'), "readers: 'r' is a Entry; expected a Reader"),
    "a list": (target('kernels=["k"]'), "kernels is a list; expected a dictionary"),
    "a place alone": (target('mappers={"m": "a:b"}'), "mappers: 'm' is a str; expected a Mapper"),
    "a hook without keys": (target('hooks={"passes": "a:b"}'),
                            "hook passes: found a str; expected a dictionary of keys and places"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_broken_plugin_is_reported_in_one_line_and_breaks_nothing(site: Path, gridloom, text: str, reason: str):
    install(site, "a-bad-package", {"bad": "bad_plugin:TARGET"}, bad_plugin=text)
    install(site, "good-package", {"good": "good_plugin:TARGET"}, good_plugin=GOOD)
    listed = gridloom("list", "plugins")
    assert listed.status == 0
    notes = [line for line in listed.err.splitlines() if "good_plugin" not in line]
    assert notes == [f"plug-in 'bad' of a-bad-package 1.0 is not used: {reason}"]
    assert listed.out.splitlines()[:2] == [f"bad  a-bad-package 1.0  refused: {reason}",
                                           "good  good-package 1.0  loaded"]  # fmt: skip
    done = gridloom("map", "kernel:twice", "--arch", "mesh:2x2", "--mapper", "delegate", "--effort", 500)
    assert (done.status, done.out.split(":")[0]) == (0, "mapped")
    (bad, _) = gridloom("list", "plugins", "--json").record["plugins"]
    assert (bad["state"], bad["reason"], bad["adds"]) == ("refused", reason, {})


def test_a_refused_plugin_adds_nothing(site: Path) -> None:
    text = target('kernels={"new": Entry("a:b", ""), "fir": Entry("a:b", "")}')
    install(site, "bad-package", {"bad": "bad_plugin:TARGET"}, bad_plugin=text)
    with pytest.warns(plugins.PluginWarning, match="kernel 'fir' is there already"):
        assert not registry.has("kernels", "new")


def test_a_name_goes_to_the_first_package_that_declares_it(site: Path) -> None:
    for package, module in (("b-package", "second_plugin"), ("A-package", "first_plugin")):
        text = target(f'kernels={{"same": Entry("{module}:K", "of {module}")}}')
        install(site, package, {"bad": f"{module}:TARGET"}, **{module: text})
    with pytest.warns(plugins.PluginWarning, match="plug-in 'bad' of b-package 1.0 is not used: kernel 'same'"):
        assert gl.names("kernels")["same"] == "of first_plugin"


def test_a_list_of_entry_points_that_cannot_be_read_breaks_nothing(good: Path) -> None:
    install(good, "bad-package", {})
    (good / "bad_package-1.0.dist-info" / "entry_points.txt").write_text("[gridloom.plugins]\nno equals sign\n")
    with pytest.warns(plugins.PluginWarning, match="bad-package 1.0 is not used: its entry_points.txt cannot"):
        assert registry.has("kernels", "twice")


def test_a_package_without_metadata_is_loaded(good: Path, gridloom) -> None:
    (good / "good_package-1.0.dist-info" / "METADATA").unlink()
    assert gridloom("list", "plugins").out.splitlines()[0].endswith("loaded")


def test_quiet_commands_do_not_mention_it(site: Path, gridloom) -> None:
    install(site, "bad-package", {"bad": "bad_plugin:TARGET"}, bad_plugin="TARGET = 1")
    assert gridloom("--quiet", "list", "kernels").err == ""


def test_a_place_that_does_not_exist_is_an_error_of_that_name_alone(site: Path, gridloom) -> None:
    install(site, "bad-package", {"bad": "bad_plugin:TARGET"},
            bad_plugin=target('mappers={"lost": Mapper({"grid": "nowhere_plugin:lost"}, "")}'))  # fmt: skip
    done = gridloom("map", "kernel:fir", "--arch", "mesh:5x5", "--mapper", "lost")
    reason = "ModuleNotFoundError: No module named 'nowhere_plugin'"
    expected = f"error: nowhere_plugin:lost, which a plug-in declares, cannot be loaded: {reason}\n"
    assert (done.status, done.err) == (2, expected)
    assert gridloom("map", "kernel:vector_add", "--arch", "mesh:2x2", "--effort", 500).status == 0


def test_a_plugin_with_a_hook_that_cannot_be_imported_is_refused(site: Path, gridloom) -> None:
    fields = 'kernels={"k": Entry("a:b", "")}, hooks={"passes": {"modulo": "nowhere_plugin:f"}}'
    install(site, "bad-package", {"bad": "bad_plugin:TARGET"}, bad_plugin=target(fields))
    done = gridloom("map", "kernel:vector_add", "--arch", "torus:2x2", "--effort", 500)
    assert done.status == 0 and done.out.startswith("mapped")
    reason = "cannot be loaded: ModuleNotFoundError: No module named 'nowhere_plugin'"
    place = "hook passes: nowhere_plugin:f, which a plug-in declares,"
    assert done.err == f"plug-in 'bad' of bad-package 1.0 is not used: {place} {reason}\n"


def test_a_rule_that_cannot_be_imported_is_not_left_out(site: Path, gridloom) -> None:
    fields = 'hooks={"rules": {"grid": "nowhere_plugin:RULES"}}'
    install(site, "bad-package", {"bad": "bad_plugin:TARGET"}, bad_plugin=target(fields))
    done = gridloom("map", "kernel:vector_add", "--arch", "mesh:2x2", "--effort", 500)
    assert (done.status, done.err.startswith("error: nowhere_plugin:RULES, which a plug-in declares,")) == (2, True)


MAPPERS = (
    target('mappers={"raises": Mapper({"grid": "bad_plugin:raises"}, "", role="search"), '
           '"lies": Mapper({"grid": "bad_plugin:lies"}, ""), "odd": Mapper({"grid": "bad_plugin:odd"}, "")}')
    + """
def raises(dfg, arch, budget):
    raise ZeroDivisionError("a mistake")


def lies(dfg, arch, budget):
    from gridloom.mapping.model import Mapping

    return Mapping(dfg=dfg, arch=arch, ii=1, instances=(), routes=())


def odd(dfg, arch, budget):
    return None
"""
)  # fmt: skip


@pytest.fixture
def mappers(site: Path) -> None:
    install(site, "bad-package", {"bad": "bad_plugin:TARGET"}, bad_plugin=MAPPERS)


def test_a_mapper_that_raises_is_named(mappers: None, gridloom) -> None:
    done = gridloom("map", "kernel:vector_add", "--arch", "mesh:2x2", "--mapper", "raises")
    assert (done.status, done.err) == (2, "error: mapper 'raises' failed: ZeroDivisionError: a mistake\n")


def test_a_mapper_that_raises_does_not_end_a_race(mappers: None) -> None:
    result = gl.map("kernel:vector_add", "mesh:2x2", mapper="portfolio", settings={"mappers": "raises+anneal"},
                    effort=500)  # fmt: skip
    assert result.status == "mapped" and result.mapping.provenance["found_by"] == "anneal"


def test_a_mapping_that_is_wrong_is_refused_in_the_name_of_its_mapper(mappers: None) -> None:
    result = gl.map("kernel:vector_add", "mesh:2x2", mapper="lies")
    assert result.status == "failed" and result.failure.constraint == "legality of what mapper 'lies' returned"


def test_a_mapper_that_returns_something_else_is_named(mappers: None) -> None:
    with pytest.raises(gl.GridloomError, match="mapper 'odd' returned a NoneType; expected a Mapping or a Failure"):
        gl.map("kernel:vector_add", "mesh:2x2", mapper="odd")
