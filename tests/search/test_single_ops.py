"""Tiles that have some ops of a class: mappers keep ops to the tiles that have them, the checker sees to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gridloom.archs import Arch, build
from gridloom.dfg import Dfg, DfgBuilder
from gridloom.errors import OptionError
from gridloom.mapping import Failure, Mapping
from gridloom.search.budget import Budget
from gridloom.search.choice import config_type, function_for
from gridloom.sim import simulate
from gridloom.verify import legal


def differences() -> Dfg:
    """Two differences and a sum of what comes in."""
    b = DfgBuilder("differences")
    x, y = b.input("x"), b.input("y")
    b.output(b.add("add", b.add("sub", x, y), b.add("sub", y, x)), "z")
    return b.build()


def array(style: str, where: Any = ((0, 0), (2, 2))) -> Arch:
    """A 3 x 3 array in which few tiles subtract."""
    tiles = [
        {"ops": ["add", "io"], **({"registers": 4} if style == "modulo" else {})},
        {"where": {"tiles": [list(cell) for cell in where]}, "ops": {"add": "sub"}},
    ]
    return build({"style": style, "rows": 3, "cols": 3, "tiles": tiles})


def mapped(name: str, arch: Arch) -> Mapping | Failure:
    function = function_for(name, arch)
    return function(differences(), arch, config_type(function)(), Budget(seed=1, effort=4000))


@pytest.mark.parametrize(
    ("style", "name"),
    [("static", "anneal"), ("static", "exact"), ("static", "neosa"), ("modulo", "modulo"), ("modulo", "exact")],
)
def test_ops_sit_where_tiles_have_them(style: str, name: str) -> None:
    found = mapped(name, array(style))
    assert isinstance(found, Mapping)
    assert legal(found) == []
    assert simulate(found)
    places = {i.place for i in found.instances if found.dfg.node(i.node).op == "sub"}
    assert places <= {"pe_0_0", "pe_2_2"}


def test_the_checker_names_the_op_that_a_tile_lacks() -> None:
    found = mapped("modulo", array("modulo"))
    assert isinstance(found, Mapping)
    poor = build({"extends": dict(found.arch.spec), "tiles": [{"ops": {"remove": "sub"}}]})
    kinds = {(v.kind, v.demanded) for v in legal(replace(found, arch=poor))}
    assert kinds == {("op-class", "sub")}


def test_an_op_that_no_tile_has_is_named() -> None:
    arch = build({"style": "modulo", "rows": 2, "cols": 2, "tiles": {"ops": ["add", "io"], "registers": 4}})
    found = mapped("modulo", arch)
    assert isinstance(found, Failure)
    assert found.constraint == "no PE has op sub"


def test_a_mapper_that_knows_classes_only_says_so() -> None:
    with pytest.raises(OptionError, match="mapper 'ramp' takes no arrays with trait 'partial'"):
        function_for("ramp", array("modulo"))
