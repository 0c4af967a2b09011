"""A fault in what mappers and judges might share is reported by a judge: one planted fault for each such function.

Judges read the fields of graph, array and mapping. What they still run of the model, directly or through another
function, is listed here: either a fault in it is reported, or it is shared by design and an independent test guards it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.judges.cases import cases, judge, renewed, steps
from tests.judges.faults import FAULTS, damaged, prepared, run_planted
from tests.judges.members import members, planted, recording
from tests.targets.streaming.machine.test_together import affine, flow, joined, loop, transfer

from gridloom import registry
from gridloom.archs import build
from gridloom.cli import main
from gridloom.errors import GridloomError
from gridloom.mapping import json_format
from gridloom.mapping.model import Mapping
from gridloom.search import stores
from gridloom.search.budget import Budget
from gridloom.sim import simulate
from gridloom.targets.modulo.mappers.config import ModuloConfig
from gridloom.targets.modulo.mappers.modulo import modulo
from gridloom.targets.streaming.machine.together import simulate_program
from gridloom.targets.streaming.program.model import Program
from gridloom.targets.streaming.rules.program import legal_program
from gridloom.verify import legal

REPOSITORY = Path(__file__).resolve().parents[2]

#: What judges run of the model, most of it to derive the configuration that is simulated: a fault is reported.
REPORTED = (
    "archs.model.Arch.fu", "archs.model.Arch.operand_inputs", "archs.model.Arch.resource_index",
    "archs.model.Arch.tile_index", "archs.model.Tile.latency_of", "archs.unroll.ResourceGraph.latencies",
    "dfg.interpreter.Interpreter.run", "dfg.model.Dfg.in_edges", "dfg.model.Dfg.index", "dfg.model.Dfg.initial_values",
    "dfg.model.Dfg.op_class", "dfg.model.Dfg.operand_edges", "dfg.model.Dfg.ops", "dfg.model.Edge.carries_value",
    "mapping.configuration.configure", "mapping.model.Mapping.instance_of", "mapping.model.Mapping.route_of",
)  # fmt: skip

#: What judges share with mappers by design -> the test that defines it independently.
BY_DESIGN = {
    "archs.model.Arch.unroll": "tests/archs/test_unroll.py::test_unrolled_array_is_that_of_an_independent_definition",
    "archs.unroll.unroll": "tests/archs/test_unroll.py::test_unrolled_array_is_that_of_an_independent_definition",
    "archs.unroll.check_settings": "tests/archs/test_unroll.py::test_defaults_of_settings_are_filled_in",
    "archs.spec.parameters": (
        "tests/targets/dataflow/families/test_rdu.py::test_parameters_are_those_of_the_description"
    ),
    "targets.dataflow.program.model.unit_graph": (
        "tests/targets/dataflow/program/test_model.py::test_only_graphs_of_units_are_mapped_and_simulated"
    ),
    "dfg.ops.lookup": "tests/dfg/test_ops.py::test_rows_of_the_table_are_those_of_an_independent_list",
    "dfg.semantics.encode": "tests/dfg/test_semantics.py::test_singles_travel_as_their_pattern",
    "dfg.semantics.salt":
        "tests/dfg/test_semantics.py::test_opaque_result_shows_swapped_changed_missing_operands_and_another_node",
    "dfg.interpreter.random_stimulus":
        "tests/dfg/test_interpreter.py::test_same_seed_gives_the_same_stimulus_within_the_domain",
    "dfg.interpreter.random_words":
        "tests/dfg/test_interpreter.py::test_same_seed_gives_the_same_stimulus_within_the_domain",
}  # fmt: skip

#: Other facts about graph and array that mappers ask for; judges have their own.
MAPPERS_ASK = (
    "archs.model.Arch.has", "archs.model.Arch.hops", "archs.model.Arch.is_timed", "archs.model.Arch.link_cycles",
    "archs.model.Arch.links", "archs.model.Arch.out", "archs.model.Arch.tiles_for", "archs.model.Tile.fifo_of",
    "archs.model.Tile.occupancy_of",
    "archs.model.Tile.runs", "archs.unroll.ResourceGraph.nodes", "archs.unroll.ResourceGraph.predecessors",
    "dfg.model.Dfg.has_result", "dfg.model.Dfg.node", "dfg.model.Dfg.op", "dfg.model.Dfg.out_edges",
    "dfg.model.Dfg.required_classes", "dfg.model.Dfg.results", "dfg.model.Dfg.topological", "dfg.ops.Op.timeless",
    "dfg.recurrence.recurrence_mii", "mapping.mii.Mii.total", "mapping.mii.least_latencies", "mapping.mii.mii",
    "mapping.mii.resource_bounds", "mapping.mii.unkept_live_ins",
    "targets.dataflow.rates.edge_tokens", "targets.dataflow.rates.repetitions", "targets.dataflow.rates.stages",
    "targets.dataflow.rates.taken",
)  # fmt: skip


def judged_members() -> set[str]:
    """The members of the model that run while the judges look at a sound and at a damaged mapping of every case."""
    found: set[str] = set()
    for mapping in prepared().values():
        for shown in (mapping, damaged(mapping)):
            fresh = renewed(shown)
            with recording() as seen:
                legal(fresh)
                simulate(fresh, iterations=16)
            found |= seen
    return {name for name in found if "._" not in name}


def test_cases_reach_the_rules_and_the_machine_of_every_target_that_has_them():
    keys = {key for case in cases().values() for key in (case.arch.style, *case.arch.traits)}
    for place in registry.BUILT_IN:
        hooks = registry.object_at(place).TARGET.hooks
        assert {*hooks.get("rules", ()), *hooks.get("machines", ())} <= keys


def test_every_function_of_the_model_that_a_judge_runs_is_listed():
    assert sorted(judged_members()) == sorted({*REPORTED, *BY_DESIGN})


def test_a_judge_that_calls_one_more_function_is_noticed(monkeypatch: pytest.MonkeyPatch):
    from gridloom.verify import legality

    monkeypatch.setattr(legality, "_EVERYWHERE", (*legality._EVERYWHERE, lambda subject: iter(subject.arch.hops[:0])))
    assert judged_members() - {*REPORTED, *BY_DESIGN} == {"archs.model.Arch.hops", "archs.model.Arch.links",
                                                         "archs.model.hop_distances"}  # fmt: skip


@pytest.mark.parametrize("name", REPORTED)
def test_fault_in_what_a_judge_runs_is_reported(name: str):
    outcomes = [run_planted(name, damage) for damage in FAULTS.values()]
    assert [outcome.slipped for outcome in outcomes] == [[], []]
    assert any(outcome.reported for outcome in outcomes)


@pytest.mark.parametrize("name", MAPPERS_ASK)
def test_fault_in_what_mappers_ask_passes_no_judge(name: str):
    for damage in FAULTS.values():
        assert run_planted(name, damage).slipped == []


def test_what_mappers_ask_is_listed():
    asked: set[str] = set()
    for case in cases().values():
        with recording() as seen:
            case.map()
        asked |= seen
    builders = re.compile(
        r"archs\.(parts|spec|selectors|simd|described)\.|targets\.\w+\.families\.|dfg\.checks\.|.*Builder\."
        r"|dfg\.model\.(graph_type|Dfg\.check_fields)$"
    )
    facts = {name for name in asked if "._" not in name and not builders.match(name)}
    # Estimates of distances and rates, and the cause of a failure: none of them says that a mapping is legal.
    harmless = {"archs.model.hop_distances", "targets.dataflow.rates.is_deep", "mapping.model.as_proof"}
    assert facts - {*REPORTED, *BY_DESIGN, *MAPPERS_ASK} <= harmless


def test_planted_fault_reaches_every_caller_and_is_gone_afterwards():
    tile = build("mesh:1x1").tiles[0]
    with planted("archs.model.Tile.latency_of", lambda cycles: cycles + 1):
        assert tile.latency_of("alu") == 2
    assert tile.latency_of("alu") == 1


# -- programs of several flows ----------------------------------------------------------------------------------------

#: What the judges of programs run of the model besides.
PROGRAMS = tuple(
    f"targets.streaming.program.model.{name}"
    for name in ("Program.branched", "Program.into", "has_branch", "flow_order", "taken")
)


def test_every_function_that_the_judges_of_programs_run_is_listed():
    programs = [loop(), joined([flow("a", affine(3), 2), flow("b", affine(5), 3)], transfer("a", "b"))]
    with recording() as seen:
        # The flows overlap, which is illegal and does not keep them from running.
        assert all(legal_program(program) and simulate_program(program).ok for program in programs)
    assert {name for name in seen if "._" not in name} <= {*REPORTED, *BY_DESIGN, *PROGRAMS}


@pytest.mark.parametrize("name", PROGRAMS)
def test_fault_in_what_the_judges_of_programs_run_is_reported(name: str):
    programs = [loop(), joined([flow("a", affine(3), 2), flow("b", affine(5), 3)], transfer("a", "b"))]

    def is_reported(program: Program, damage: Callable[[Any], Any]) -> bool:
        with planted(name, damage):
            try:
                return not simulate_program(program).ok
            except (GridloomError, KeyError):
                return True

    assert any(is_reported(program, damage) for program in programs for damage in FAULTS.values())


# -- the stores of constants ------------------------------------------------------------------------------------------


def overfull(monkeypatch: pytest.MonkeyPatch, name: str) -> Mapping:
    """A mapping by a mapper whose count of the words in a store is wrong."""
    right = getattr(stores, name)

    def wrong(*args: object) -> object:
        found = right(*args)
        return max(0, found - 1) if isinstance(found, int) else type(found)(sorted(found, key=repr)[:-1])

    monkeypatch.setattr(stores, name, wrong)
    for module in ("gridloom.targets.modulo.mappers.stores", "gridloom.targets.grid.mappers.problem"):
        monkeypatch.setattr(f"{module}.{name}", wrong, raising=False)
    arch = build({"style": "modulo", "rows": 2, "cols": 2, "tiles": {"registers": 4, "constants": 3}})
    mapping = modulo(steps(5), arch, ModuloConfig(), Budget(effort=3000, seed=7))
    assert isinstance(mapping, Mapping), mapping
    return mapping


@pytest.mark.parametrize("name", ["longest_runs", "runs_of", "words_of"])
def test_fault_in_the_words_of_a_store_is_refused_by_both_judges(monkeypatch: pytest.MonkeyPatch, name: str):
    found = judge(overfull(monkeypatch, name))
    assert any(text.startswith("constants at constant store of ") for text in found.violations)
    assert found.wrong is not None
    assert "its constant store has 3 words" in found.wrong


@pytest.mark.parametrize("command", ["check", "simulate"])
def test_overfull_store_is_refused_on_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str
):
    file = tmp_path / "mapping.json"
    file.write_text(json_format.dumps(overfull(monkeypatch, "longest_runs")), encoding="utf-8")
    assert main([command, str(file)]) == 1
    assert "constant store" in capsys.readouterr().out


# -- what is shared by design -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("guard", sorted(set(BY_DESIGN.values())))
def test_what_is_shared_by_design_has_a_guard(guard: str):
    path, _, name = guard.partition("::")
    tree = ast.parse((REPOSITORY / path).read_text(encoding="utf-8"))
    assert name in [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def test_page_lists_what_is_shared_by_design_and_its_guards():
    page = (REPOSITORY / "docs" / "verify.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w.]+)`", page))
    assert {name.rsplit(".", 1)[1] for name in BY_DESIGN} <= named
    assert {guard.partition("::")[0].removeprefix("tests/") for guard in BY_DESIGN.values()} <= {
        found.removeprefix("tests/") for found in re.findall(r"`(tests/[\w/.]+)`", page)
    }


def test_every_name_of_the_lists_is_a_member_of_the_model():
    assert {*REPORTED, *BY_DESIGN, *MAPPERS_ASK, *PROGRAMS} <= members().keys()
