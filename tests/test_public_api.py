"""The public Python API: what `import gridloom as gl` offers, and that each name is real and explained."""

from __future__ import annotations

import inspect
from importlib import metadata
from pathlib import Path

import pytest

import gridloom
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
    assert entry.value == "gridloom.cli:main"
    assert callable(entry.load())


def test_types_are_shipped():
    assert (Path(inspect.getfile(gridloom)).parent / "py.typed").exists()
