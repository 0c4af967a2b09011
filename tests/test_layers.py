"""Who may import whom. A checker that shares code with a mapper shares its bugs; these tests keep them apart.

The rules hold for every import statement, those inside functions included, for `import_module("gridloom....")` with a
literal name, for places of objects (`"gridloom.targets.grid...."`), and for looking a mapper or a judge up in the
registry, which is an import by another road.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import rustworkx
from tests.import_graph import (
    PACKAGE,
    Module,
    called,
    first_literal,
    imported_names,
    imports,
    is_for_types,
    modules,
    reached,
    shared_modules,
    target_of,
    unit_of,
)

from gridloom import registry

DOCUMENTS = Path(__file__).resolve().parents[1] / "docs"

EVERYONE_MAY = frozenset(
    {"errors", "jit", "limits", "plugins", "registry", "statistics", "text_file", "yaml_text", "_version"}
)
NOUNS = frozenset({"dfg", "archs", "mapping"})
#: What mappers share.
SEARCH = frozenset({"search", "partition", "transform"})
JUDGES = frozenset({"verify", "sim"})
TOOLS = SEARCH | JUDGES | {"compiler", "emit", "hardware", "run"}

# Unit -> the other units it may import, besides those that everyone may and its own target. `dfg.ops` is a part of a
# unit. `targets.mappers` is the folder `mappers` of each target.
MAY_IMPORT: dict[str, frozenset[str]] = {
    "errors": frozenset(),
    "jit": frozenset(),
    "registry": frozenset(),
    "plugins": frozenset(),
    "builtin": frozenset(),
    "_version": frozenset(),
    "statistics": frozenset(),
    "dfg": frozenset(),
    "limits": frozenset(),
    "text_file": frozenset(),
    "yaml_text": frozenset(),
    "archs": frozenset({"dfg.ops"}),
    "mapping": frozenset({"dfg", "archs"}),
    "verify": NOUNS,
    "sim": NOUNS,
    "compiler": NOUNS,
    "transform": NOUNS,
    "search": NOUNS,
    "partition": NOUNS | {"search"},
    "emit": NOUNS,
    "hardware": NOUNS,
    "learn": NOUNS | {"run", "search"},
    "run": frozenset(),
    "flow": NOUNS | TOOLS,
    "explore": NOUNS | TOOLS | {"flow"},
    "testing": NOUNS | TOOLS | {"flow"},
    "studio": NOUNS | TOOLS | {"flow", "explore"},
    "cli": NOUNS | TOOLS | {"flow", "explore", "studio", "__init__"},
    "__init__": NOUNS | TOOLS | {"flow", "explore"},
    "__main__": frozenset({"cli"}),
    "targets": frozenset(),
    # A declaration is pure data.
    "targets.target": frozenset(),
    "targets.families": frozenset({"archs", "dfg.ops"}),
    "targets.mappers": NOUNS | SEARCH,
    "targets.bounds": NOUNS,
    "targets.costs": NOUNS | {"search"},
    "targets.rates": NOUNS,
    "targets.rules": NOUNS | {"verify"},
    "targets.machine": NOUNS | {"sim"},
    "targets.estimate": NOUNS | SEARCH,
    "targets.ii_estimate": NOUNS,
    "targets.learned": NOUNS | SEARCH | JUDGES | {"learn", "run", "compiler"},
    # Graph passes and lowerings.
    "targets.fuse": NOUNS | {"transform"},
    "targets.systolic": NOUNS | {"transform"},
    "targets.words24": NOUNS | {"transform"},
    "targets.lowering": NOUNS,
    "targets.frontend": frozenset({"dfg", "compiler"}),
    "targets.program": NOUNS,
    "targets.sections": NOUNS,
    # What the battery for cost models asks about.
    "targets.sample": NOUNS,
    "targets.picture": NOUNS | {"emit"},
    "targets.report": NOUNS | {"emit"},
    # Exporters have passes for their machines, and try programs on the data that the simulator draws.
    "targets.export": NOUNS | {"transform", "sim"},
    "targets.foreign": NOUNS | {"yaml_text"},
    "targets.spoke_ram": NOUNS,
    "targets.commands": NOUNS | TOOLS | {"flow", "explore", "cli"},
}

#: Modules of a target that run whole flows -> the reason. They may import what `flow` may, and `flow` itself.
RUNS_FLOWS = {
    "targets.dataflow.sections": "maps the sections of a tensor program one by one and joins their results",
    "targets.streaming.program.run": "maps and judges each flow of a program on the tiles that the last one left",
    "targets.grid.export.vpr.flow": "maps with gridloom and with VPR, and judges both",
}

#: Part of a target -> the parts of the same target that it may not import: a search knows nothing of what judges it,
#: of what shows it or of who runs it.
_NOT_FOR_SEARCHES = frozenset({"rules", "machine", "commands", "sections", "report", "picture", "export", "foreign"})
NOT_WITHIN: dict[str, frozenset[str]] = {
    "mappers": _NOT_FOR_SEARCHES | {"learned"},
    "bounds": _NOT_FOR_SEARCHES | {"learned", "mappers"},
    "costs": _NOT_FOR_SEARCHES | {"learned", "mappers"},
    "learned": _NOT_FOR_SEARCHES,
    "families": _NOT_FOR_SEARCHES | {"learned", "mappers", "costs", "bounds"},
}

#: Measures a placement for searches and for labels, and judges nothing -> who imports it. The judge of elastic arrays
#: is `machine.run`; :func:`test_what_measures_and_what_judges_stay_apart` names the modules that both read.
MEASURES = {
    "targets.dataflow.machine.measure": {"targets.dataflow.costs.simulated", "targets.dataflow.learned.data"},
}

#: What both judges may import from the model: data types, the unrolled array, the op table, the parameters of a family.
_DATA = frozenset(
    {
        "archs.model.Arch", "archs.model.Bank", "archs.model.ISSUE_KINDS", "archs.model.Kind",
        "archs.model.RegisterFile", "archs.model.Tile", "archs.spec.parameters", "archs.unroll.ResourceGraph",
        "dfg.model.Dfg", "dfg.model.Edge", "dfg.model.Initial", "dfg.model.Node", "dfg.ops.Op", "dfg.ops.lookup",
        "mapping.model.Instance", "mapping.model.Mapping", "mapping.model.Route",
    }
)  # fmt: skip
_MEANING = frozenset(
    {
        "dfg.interpreter.Interpreter", "dfg.interpreter.Observation", "dfg.interpreter.OutOfBounds",
        "dfg.interpreter.Stimulus", "dfg.interpreter.Words", "dfg.interpreter.random_stimulus",
        "dfg.semantics.DOMAIN_CODE", "dfg.semantics.encode", "dfg.semantics.evaluate", "dfg.semantics.mix",
        "dfg.semantics.salt", "mapping.configuration.Configuration", "mapping.configuration.Operand",
        "mapping.configuration.Slot", "mapping.configuration.TokenPath", "mapping.configuration.configure",
    }
)  # fmt: skip

#: Judge -> every name that it may import from the model; what it judges it computes itself. docs/verify.md says which
#: of these mappers use as well, and which test guards them.
JUDGES_MAY: dict[str, frozenset[str]] = {
    "verify": _DATA | {"mapping.mii.mii"},
    "sim": _DATA | _MEANING,
    "targets.rules": _DATA,
    "targets.machine": _DATA | _MEANING,
}

#: What judges of a target may import of it besides `rules` and `machine`: parameters of a family, records of a program.
JUDGES_MAY_WITHIN = frozenset(
    {
        "targets.dataflow.families.rdu.RduParameters",
        "targets.dataflow.program.model.TokenEdge", "targets.dataflow.program.model.UnitGraph",
        "targets.dataflow.program.model.UnitNode", "targets.dataflow.program.model.unit_graph",
        "targets.streaming.program.model.HOST", "targets.streaming.program.model.Channel",
        "targets.streaming.program.model.Flow", "targets.streaming.program.model.Program",
        "targets.streaming.program.model.flow_order", "targets.streaming.program.model.taken",
    }
)  # fmt: skip

#: Modules outside its target that a mapper may import in the end.
MOST_SHARED = 20

TALKS_TO_THE_USER = frozenset({"cli", "__main__", "targets.commands"})
#: Limits the threads of worker processes, which BLAS and OpenMP take from the environment and from nowhere else.
SETS_THREAD_LIMITS = {"run.threads"}
#: Finds a compiler by PATH and GRIDLOOM_CLANG, in worker processes too, which only inherit the environment.
FINDS_A_COMPILER = {"compiler.ir.driver"}
LOOKS_UP_MAPPERS = frozenset(
    {"search", "targets.learned", "flow", "explore", "testing", "studio", "cli", "targets.commands", "__init__"}
)
#: Hook -> who may ask for it: nobody but the judge that it belongs to.
ASKS_FOR_JUDGES = {"rules": "verify", "machines": "sim"}
#: Names under which code holds an array.
ARRAYS = frozenset({"arch", "array", "layout", "small"})
#: Mappers obey the rules that ``verify`` checks; a rule does not tell anybody else what an array is.
KNOWS_RULES = frozenset({"verify", "targets.rules", "targets.mappers"})
#: Builds arrays as a family does, with planted faults.
PLANTS_FAMILIES = {"testing.self_check"}
HEAVY_LEARNING = frozenset({"torch", "torch_geometric", "sb3_contrib", "stable_baselines3", "gymnasium"})
IMPORTS_TORCH = ("targets.learned", "targets.frontend")


def layer_breaches(package: Path) -> list[str]:
    """Imports of ours that the table does not allow, as messages; those within a unit or a target are lawful here."""
    found = []
    for module in modules(package):
        allowed = MAY_IMPORT.get(module.unit, frozenset()) | EVERYONE_MAY
        if any(_is_within(module.name, place) for place in RUNS_FLOWS):
            allowed |= MAY_IMPORT["flow"] | {"flow"}
        for item in imports(module, package):
            same = item.unit == module.unit or (module.target and item.target == module.target)
            if item.ours and not same and not item.target and not _allowed(item.name or "__init__", allowed):
                found.append(str(item))
    return found


def _is_within(name: str, place: str) -> bool:
    return name == place or name.startswith(place + ".")


def _allowed(name: str, allowed: frozenset[str]) -> bool:
    parts = name.split(".")
    return any(".".join(parts[: n + 1]) in allowed for n in range(len(parts)))


def target_breaches(package: Path) -> list[str]:
    """Imports of a target from outside its folder, and places of its objects; the registry lists declarations."""
    found = []
    for module in modules(package):
        for item in imports(module, package):
            if (
                item.ours
                and item.unit.startswith("targets")
                and item.name != "targets"
                and item.target != module.target
            ):
                found.append(str(item))
        for line, text in _texts(module):
            for name in re.findall(r"gridloom[./]targets[./](\w+)", text):
                if name != module.target:
                    found.append(f"{module.name or '__init__'}:{line} names {text!r}")
    return found


def _texts(module: Module) -> Iterator[tuple[int, str]]:
    """The texts of a module, with their lines; documentation, and the list of declarations of the registry apart."""
    apart = set()
    for node in ast.walk(module.tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                apart.add(id(node.value))
            case ast.AnnAssign(target=ast.Name(id="BUILT_IN"), value=ast.Tuple(elts=lines)) if (
                module.name == "registry"
            ):
                apart |= {id(line) for line in lines}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in apart:
            yield node.lineno, node.value


def search_breaches(package: Path) -> list[str]:
    """Imports within a target that lead from a search to what judges, shows or runs it."""
    found = []
    for module in modules(package):
        part = module.unit.removeprefix("targets.")
        banned = NOT_WITHIN.get(part, frozenset()) if module.target else frozenset()
        for item in imports(module, package):
            lawful = any(_is_within(module.name, user) for user in MEASURES.get(item.name, ()))
            if item.ours and item.target and item.unit.removeprefix("targets.") in banned and not lawful:
                found.append(str(item))
    return found


def judge_breaches(package: Path) -> list[str]:
    """Names of the model or of its target that a judge imports and that its list does not have.

    A module as a whole is no name. Judges import each other's parts of the same kind: rules those of `verify`, machines
    those of `sim`.
    """
    found = []
    for module in modules(package):
        listed = JUDGES_MAY.get(module.unit)
        for line, name in imported_names(module) if listed is not None else ():
            of_model = name.split(".")[0] in NOUNS
            of_target = name.startswith("targets.") and unit_of(name) not in ("targets.rules", "targets.machine")
            of_other = unit_of(name) in JUDGES_MAY and unit_of(name) not in _KIN[module.unit]
            if (of_model or of_target or of_other) and name not in listed | JUDGES_MAY_WITHIN:
                found.append(f"{module.name}:{line} imports gridloom.{name}")
    return found


_KIN = {
    "verify": {"verify"},
    "sim": {"sim"},
    "targets.rules": {"verify", "targets.rules"},
    "targets.machine": {"sim", "targets.machine"},
}


def mapper_breaches(package: Path, mappers: frozenset[str]) -> list[str]:
    """Imports of a registered mapper's module by another module; `mappers` are names without `gridloom.`."""
    found = []
    for module in modules(package):
        for item in imports(module, package):
            inside = _within(module.name, mappers)
            target = _within(item.name, mappers) if item.ours else None
            if target is not None and target != inside:
                found.append(str(item))
    return found


def _within(name: str, mappers: frozenset[str]) -> str | None:
    return next((mapper for mapper in mappers if _is_within(name, mapper)), None)


def registry_breaches(package: Path) -> list[str]:
    """Look-ups of mappers by units that may not know any, and of the rules and machines of targets by strangers."""
    found = []
    for module in modules(package):
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Call):
                continue
            asked = first_literal(node)
            if called(node) in {"load", "entry"} and asked == "mappers" and module.unit not in LOOKS_UP_MAPPERS:
                found.append(f"{module.name}:{node.lineno} looks up mappers")
            if called(node) in {"hook", "hook_for", "hooks_for"}:
                if ASKS_FOR_JUDGES.get(asked or "", module.unit) != module.unit:
                    found.append(f"{module.name}:{node.lineno} looks up {asked}")
    return found


def talk_breaches(package: Path) -> list[str]:
    """Printing, exiting, asking and reading the environment outside of cli and of the commands of targets."""
    return [
        f"{module.name or '__init__'}:{node.lineno} uses {what}"
        for module in modules(package)
        if module.unit not in TALKS_TO_THE_USER and module.name not in SETS_THREAD_LIMITS | FINDS_A_COMPILER
        for node in ast.walk(module.tree)
        if isinstance(node, ast.expr | ast.ImportFrom)
        for what in _talk(node)
    ]


def _talk(node: ast.AST) -> list[str]:
    match node:
        case ast.Call(func=ast.Name(id="print" | "input" | "exit" | "quit" | "SystemExit" as name)):
            return [name]
        case ast.Attribute(value=ast.Name(id="sys"), attr="exit" | "stdout" | "stderr" | "stdin" | "argv" as name):
            return [f"sys.{name}"]
        case ast.Attribute(value=ast.Name(id="os"), attr="environ" | "getenv" | "putenv" | "_exit" as name):
            return [f"os.{name}"]
        case ast.ImportFrom(module="os" | "sys", names=names):
            bad = {"environ", "getenv", "putenv", "_exit", "exit", "stdout", "stderr", "stdin", "argv"}
            return [f"{node.module}.{alias.name}" for alias in names if alias.name in bad]
    return []


def learning_breaches(package: Path) -> list[str]:
    """Imports of torch and its kin outside of the learned models of a target and of its tensor front end."""
    return [
        str(item)
        for module in modules(package)
        if module.unit not in IMPORTS_TORCH
        for item in imports(module, package)
        if not item.ours and item.unit in HEAVY_LEARNING
    ]


def family_breaches(package: Path) -> list[str]:
    """Decisions by the name of an array's family, by an array's name or by a rule of ``verify``.

    Lawful in archs and in the families of a target.
    """
    return [
        f"{module.name}:{node.lineno} asks for {what}; ask for a trait"
        for module in modules(package)
        if module.unit not in ("archs", "targets.families") and module.name not in PLANTS_FAMILIES
        for node in ast.walk(module.tree)
        if isinstance(node, ast.expr)
        for what in _asks(node, knows_rules=module.unit in KNOWS_RULES)
    ]


def _asks(node: ast.expr, knows_rules: bool) -> list[str]:
    match node:
        case ast.Subscript(value=value, slice=ast.Constant(value="family")) if _last_name(value) == "spec":
            return ["a family"]
        case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[ast.Constant(value="family"), *_]) if (
            _last_name(value) == "spec"
        ):
            return ["a family"]
        case ast.Call(func=ast.Attribute(value=ast.Attribute(value=value, attr="name" | "family"), attr=method)) if (
            method in {"startswith", "endswith", "partition", "split"} and _last_name(value) in ARRAYS
        ):
            return ["an array's name"]
        case ast.Compare(left=left, comparators=comparators):
            asked = [side for side in (left, *comparators) if isinstance(side, ast.Attribute)]
            family = any(side.attr == "family" and _last_name(side.value) in ARRAYS for side in asked)
            rules = not knows_rules and any(side.attr == "rules" for side in comparators if side in asked)
            return ["a family"] * family + ["a rule"] * rules
    return []


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def import_cycles(package: Path) -> list[list[str]]:
    """Modules that need each other while they are imported; imports within functions and for types do not count."""
    known = {module.name for module in modules(package)}
    graph = rustworkx.PyDiGraph()
    index = {name: graph.add_node(name) for name in sorted(known)}
    for module in modules(package):
        body = ast.Module(list(_run_at_import(module.tree.body)), [])
        for item in imports(replace(module, tree=body), package):
            if item.ours and item.name in known:
                graph.add_edge(index[module.name], index[item.name], None)
    parts = rustworkx.strongly_connected_components(graph)
    return sorted(sorted(graph[node] for node in part) for part in parts if len(part) > 1)


def _run_at_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        match node:
            case ast.If(orelse=rest) if is_for_types(node):
                yield from _run_at_import(rest)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                continue
            case ast.ClassDef(body=inner) | ast.With(body=inner):
                yield from _run_at_import(inner)
            case ast.If() | ast.Try():
                for inner in (node.body, node.orelse, getattr(node, "finalbody", [])):
                    yield from _run_at_import(inner)
            case _:
                yield node


def places_of_mappers() -> dict[str, tuple[str, ...]]:
    """Target (`search`: none) -> the places of the functions of its mappers."""
    found: dict[str, set[str]] = {}
    for name in registry.names("mappers"):
        for part in registry.entry("mappers", name).parts:
            for place in part.takes.values():
                if isinstance(place, str) and place.startswith("gridloom."):
                    found.setdefault(target_of(place.removeprefix("gridloom.")) or "search", set()).add(place)
    return {target: tuple(sorted(places)) for target, places in found.items()}


def registered_mappers() -> frozenset[str]:
    return frozenset(
        place.partition(":")[0].removeprefix("gridloom.")
        for target, places in places_of_mappers().items()
        for place in places
        if target != "search"
    )


def shared_list(target: str) -> list[str]:
    """What docs/targets/TARGET.md lists under `Shared modules`: all that its mappers import from outside of it."""
    return sorted({name for place in places_of_mappers()[target] for name in shared_modules(PACKAGE, place)})


def listed_modules(page: str) -> list[str]:
    """The names that a page lists under `Shared modules`."""
    _, _, below = page.partition("## Shared modules")
    return re.findall(r"^- `?(gridloom\.[\w.]+)`?", below.partition("\n## ")[0], re.MULTILINE)


def test_package_is_where_these_tests_look():
    assert {"errors", "registry"} <= {module.name for module in modules(PACKAGE)}


def test_every_unit_has_its_place_in_the_table():
    unknown = {module.unit for module in modules(PACKAGE) if module.name.count(".") != 1 or not module.target}
    unknown -= MAY_IMPORT.keys()
    assert not unknown, f"{sorted(unknown)}: say in MAY_IMPORT (and in the design) what these may import"


def test_only_learned_models_may_import_learn():
    assert [unit for unit, allowed in MAY_IMPORT.items() if "learn" in allowed] == ["targets.learned"]


def test_no_rule_lets_anyone_import_the_conformance_batteries():
    assert not [unit for unit, allowed in MAY_IMPORT.items() if "testing" in allowed]


def test_imports_follow_the_layers():
    assert layer_breaches(PACKAGE) == []


def test_every_exception_for_whole_flows_is_used():
    importing = {item.module.name for module in modules(PACKAGE) for item in imports(module, PACKAGE)
                 if item.unit == "flow" and module.target and module.unit != "targets.commands"}  # fmt: skip
    assert {place for place in RUNS_FLOWS if any(_is_within(name, place) for name in importing)} == RUNS_FLOWS.keys()


def test_nobody_outside_a_target_names_it():
    assert target_breaches(PACKAGE) == []


def test_searches_import_nothing_that_judges_shows_or_runs_them():
    assert search_breaches(PACKAGE) == []


def test_judges_import_listed_names_only():
    assert judge_breaches(PACKAGE) == []


def test_every_listed_name_is_imported_by_its_judge():
    names = {unit: {name for module in modules(PACKAGE) if module.unit == unit for _, name in imported_names(module)}
             for unit in JUDGES_MAY}  # fmt: skip
    everywhere = set().union(*names.values())
    assert sorted((_DATA | JUDGES_MAY_WITHIN) - everywhere) == []
    assert sorted(_MEANING - names["sim"] - names["targets.machine"]) == []
    assert "mapping.mii.mii" in names["verify"]


def test_what_measures_and_what_judges_stay_apart():
    machine = "targets.dataflow.machine."
    judge, meter = (
        {name.removeprefix(machine) for name in reached(PACKAGE, machine + module) if name.startswith(machine)}
        for module in ("run", "measure")
    )
    # Both read parameters, rates and the cold start of a section; neither imports what the other decides with.
    assert judge & meter == {"cold", "fabric", "firing_rates", "loading"}
    assert {"run", "token_kernel", "token_tables", "untimed_values"} <= judge - meter
    assert {"measure", "packet_kernel", "packet_tables", "packet_trees"} <= meter - judge
    rules = reached(PACKAGE, "targets.dataflow.rules.elastic")
    assert not [name for name in rules if name.startswith(machine)]
    searches = [module.name for module in modules(PACKAGE) if module.target == "dataflow"
                and module.unit in ("targets.mappers", "targets.costs", "targets.learned")]  # fmt: skip
    decided = {machine + name for name in judge - meter}
    assert {name: found for name in searches if (found := reached(PACKAGE, name) & decided)} == {}


@pytest.mark.parametrize("target", places_of_mappers())
def test_mappers_import_few_modules_from_outside_their_target(target: str):
    counts = {place: len(shared_modules(PACKAGE, place)) for place in places_of_mappers()[target]}
    assert {place: count for place, count in counts.items() if count > MOST_SHARED} == {}


@pytest.mark.parametrize("target", [name for name in places_of_mappers() if name != "search"])
def test_page_of_a_target_lists_the_shared_modules_of_its_mappers(target: str):
    page = DOCUMENTS / "targets" / f"{target}.md"
    if not page.exists():
        pytest.skip(f"there is no page {page.name}")
    block = "\n".join(f"- `{name}`" for name in shared_list(target))
    assert listed_modules(page.read_text(encoding="utf-8")) == shared_list(target), f"write:\n{block}"


def test_mappers_do_not_import_each_other():
    assert mapper_breaches(PACKAGE, registered_mappers()) == []


def test_only_upper_layers_look_up_mappers_and_only_judges_their_parts():
    assert registry_breaches(PACKAGE) == []


def test_only_cli_and_commands_print_exit_or_read_the_environment():
    assert talk_breaches(PACKAGE) == []


def test_only_learned_models_and_the_tensor_front_end_import_torch():
    assert learning_breaches(PACKAGE) == []


def test_nobody_outside_families_decides_by_a_family_or_a_rule():
    assert family_breaches(PACKAGE) == []


def test_no_modules_import_each_other_in_a_circle():
    assert import_cycles(PACKAGE) == []


def _imported_with(module: str) -> list[str]:
    heavy = "{'numba', 'torch', 'matplotlib', 'distributed'}"
    probe = f"import sys, {module}; print(*sorted({heavy} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("module", ["gridloom", "gridloom.cli", "gridloom.testing"])
def test_import_does_not_pay_for_what_it_does_not_use(module: str):
    assert _imported_with(module) == []


def test_no_command_imports_torch_before_it_runs():
    commands = [f"gridloom.{module.name}" for module in modules(PACKAGE)
                if module.name.startswith("cli.") or module.unit == "targets.commands"]  # fmt: skip
    assert "torch" not in _imported_with(", ".join(commands))


# The rules themselves: each breach below must be found, each lawful import must not.


def tree(root: Path, files: dict[str, str]) -> Path:
    package = root / "gridloom"
    for name, text in files.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return package


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sim/run.py", "from gridloom.verify import legal"),
        ("sim/run.py", "def f():\n    from ..verify import legal"),
        ("verify/legal.py", "from gridloom import sim"),
        ("verify/legal.py", "import gridloom.search.settings"),
        ("verify/__init__.py", "from .. import search"),
        ("emit/svg.py", "from importlib import import_module\nimport_module('gridloom.sim')"),
        ("search/budget.py", "from gridloom.verify import legal"),
        ("search/budget.py", "from gridloom.partition import split"),
        ("archs/model.py", "from gridloom.dfg import Dfg"),
        ("archs/model.py", "from gridloom.dfg.model import Dfg"),
        ("archs/parts/grid.py", "from ...dfg import model"),
        ("dfg/model.py", "from gridloom.archs import Arch"),
        ("partition/split.py", "from gridloom.compiler import source"),
        ("run/store.py", "from gridloom.mapping import Mapping"),
        ("flow.py", "from gridloom.explore import sweep"),
        ("flow.py", "from gridloom.testing import check_mapper"),
        ("flow.py", "from gridloom.learn import boosted"),
        ("flow.py", "from . import cli"),
        ("cli/__init__.py", "import gridloom.learn"),
        ("testing/mappers.py", "from gridloom.cli import main"),
        ("mapping/model.py", "import gridloom"),
        ("mapping/model.py", "from gridloom import __version__"),
        ("elsewhere.py", "from gridloom.dfg import Dfg"),
        ("builtin.py", "from gridloom.archs import build"),
        ("targets/grid/target.py", "from gridloom.archs import Arch"),
        ("targets/grid/families/mesh.py", "from ....dfg import model"),
        ("targets/grid/mappers/anneal.py", "from gridloom.verify import legal"),
        ("targets/grid/mappers/place/swap.py", "from .....sim import run"),
        ("targets/grid/mappers/anneal.py", "def f():\n    from gridloom.flow import run"),
        ("targets/grid/mappers/anneal.py", "from gridloom.compiler import source"),
        ("targets/grid/mappers/anneal.py", "from gridloom.learn import boosted"),
        ("targets/grid/bounds.py", "from gridloom.search import budget"),
        ("targets/rows/rules/rows.py", "from gridloom.sim import run"),
        ("targets/rows/rules/rows.py", "from gridloom.search import settings"),
        ("targets/rows/machine/run.py", "from gridloom.verify import legal"),
        ("targets/rows/machine/run.py", "from gridloom.partition import split"),
        ("targets/rows/learned/model.py", "from gridloom.flow import run"),
        ("targets/rows/picture.py", "from gridloom.verify import legal"),
        ("targets/rows/commands/figure.py", "from gridloom.studio import page"),
        ("targets/streaming/program/model.py", "from gridloom.flow import run"),
        ("targets/rows/odds/ends.py", "from gridloom.dfg import Dfg"),
    ],
)
def test_layer_breach_is_found(tmp_path: Path, name: str, text: str):
    known = dict.fromkeys(
        ["verify/__init__.py", "sim/__init__.py", "search/__init__.py", "dfg/ops.py", "dfg/model.py", "cli.py"], ""
    )
    assert len(layer_breaches(tree(tmp_path, {**known, name: text}))) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("archs/model.py", "from gridloom.dfg.ops import OPS"),
        ("archs/model.py", "from gridloom.dfg import ops"),
        ("targets/grid/families/mesh.py", "from ....dfg import ops\nfrom gridloom.archs.model import Arch"),
        ("mapping/model.py", "from gridloom._version import __version__\nfrom gridloom.dfg import Dfg"),
        (
            "targets/grid/mappers/anneal.py",
            "from gridloom.partition import split\nfrom ..bounds import b\nimport numpy",
        ),
        ("targets/rows/rules/rows.py", "from gridloom.verify.subject import Subject"),
        ("targets/rows/commands/figure.py", "from gridloom.cli import options\nfrom gridloom.flow import run"),
        ("targets/streaming/program/run.py", "from gridloom.flow import run\nfrom gridloom.verify import legal"),
        ("testing/mappers.py", "from gridloom.flow import run\nfrom gridloom.sim import simulate"),
        ("cli/__init__.py", "import gridloom as gl\nfrom gridloom.flow import run"),
        ("verify/legal.py", "from gridloom.errors import MappingError\nfrom . import rules"),
        ("flow.py", "from . import verify, sim, emit"),
    ],
)
def test_lawful_import_passes(tmp_path: Path, name: str, text: str):
    known = dict.fromkeys(["verify/__init__.py", "sim/__init__.py", "emit/__init__.py", "dfg/ops.py"], "")
    assert layer_breaches(tree(tmp_path, {**known, name: text})) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("flow/run.py", "from gridloom.targets.grid.mappers.anneal import anneal"),
        ("flow/run.py", "from gridloom.targets import grid"),
        ("flow/run.py", "def f():\n    import gridloom.targets.grid.bounds"),
        ("flow/run.py", "import_module('gridloom.targets.grid.bounds')"),
        ("cli/app.py", "PLACE = 'gridloom.targets.grid.commands.vpr:vpr'"),
        ("cli/app.py", "name = f'gridloom.targets.grid.commands.{name}'"),
        ("registry.py", "OTHERS = ('gridloom.targets.grid.target',)"),
        ("targets/rows/mappers/width.py", "from gridloom.targets.grid.mappers.anneal import anneal"),
        ("targets/rows/target.py", "TARGET = Target({'rows': 'gridloom.targets.grid.mappers.anneal:anneal'})"),
        ("targets/rows/mappers/width.py", "from ...grid import bounds"),
        ("targets/__init__.py", "from . import grid"),
    ],
)
def test_target_that_is_named_elsewhere_is_found(tmp_path: Path, name: str, text: str):
    known = dict.fromkeys(["targets/grid/mappers/anneal.py", "targets/grid/bounds.py", "targets/grid/__init__.py"], "")
    assert target_breaches(tree(tmp_path, {**known, name: text})) != []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("registry.py", "BUILT_IN: Final = ('gridloom.targets.grid.target',)"),
        ("targets/grid/target.py", "TARGET = Target({'grid': 'gridloom.targets.grid.mappers.anneal:anneal'})"),
        ("targets/grid/mappers/anneal.py", "from gridloom.targets.grid import bounds\nfrom .. import bounds"),
        ("flow/run.py", '"""Once :mod:`gridloom.targets.grid.mappers.anneal`."""\nfrom gridloom import registry'),
    ],
)
def test_target_that_is_named_lawfully_passes(tmp_path: Path, name: str, text: str):
    assert target_breaches(tree(tmp_path, {"targets/grid/bounds.py": "", name: text})) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("targets/grid/mappers/anneal.py", "from gridloom.targets.grid.rules.edges import check"),
        ("targets/grid/mappers/anneal.py", "def f():\n    from ..machine import run"),
        ("targets/grid/mappers/anneal.py", "from gridloom.targets.grid.learned.model import MODEL"),
        ("targets/grid/bounds.py", "from gridloom.targets.grid.mappers import problem"),
        ("targets/grid/costs/load.py", "from gridloom.targets.grid.machine.run import simulate"),
        ("targets/grid/learned/labels.py", "from gridloom.targets.grid.machine.run import simulate"),
        ("targets/dataflow/mappers/dataflow.py", "from gridloom.targets.dataflow.machine.measure import Meter"),
        ("targets/dataflow/costs/simulated.py", "from gridloom.targets.dataflow.machine.run import simulate_elastic"),
        ("targets/grid/families/mesh.py", "from gridloom.targets.grid.mappers import problem"),
    ],
)
def test_search_that_imports_its_judge_is_found(tmp_path: Path, name: str, text: str):
    lawful = "from gridloom.targets.dataflow.machine.measure import Meter"
    known = {"targets/grid/machine/run.py": "", "targets/dataflow/learned/data.py": lawful}
    assert len(search_breaches(tree(tmp_path, {**known, name: text}))) == 1


@pytest.mark.parametrize(
    ("name", "text", "imported"),
    [
        ("verify/stores.py", "from gridloom.mapping.stores import longest_runs", "mapping.stores.longest_runs"),
        ("verify/stores.py", "from ..mapping.configuration import configure", "mapping.configuration.configure"),
        (
            "verify/stats.py",
            "def f():\n    from gridloom.archs.model import hop_distances",
            "archs.model.hop_distances",
        ),
        ("sim/run.py", "from gridloom.dfg import rates", "dfg.rates"),
        ("sim/run.py", "import gridloom.dfg.model", "dfg.model"),
        ("sim/run.py", "from importlib import import_module\nimport_module('gridloom.mapping.mii')", "mapping.mii"),
        ("targets/rows/rules/rows.py", "from gridloom.mapping.mii import mii", "mapping.mii.mii"),
        ("targets/rows/rules/rows.py", "from ..bounds import least", "targets.rows.bounds.least"),
        ("targets/rows/rules/rows.py", "from ..mappers.problem import ways", "targets.rows.mappers.problem.ways"),
        ("targets/rows/rules/rows.py", "from gridloom.sim.reading import rates", "sim.reading.rates"),
        (
            "targets/dataflow/machine/run.py",
            "from gridloom.archs.model import hop_distances",
            "archs.model.hop_distances",
        ),
        ("targets/dataflow/machine/run.py", "from ..rates import repetitions", "targets.dataflow.rates.repetitions"),
        ("targets/dataflow/machine/run.py", "from ..families.rdu import build", "targets.dataflow.families.rdu.build"),
        (
            "targets/dataflow/machine/run.py",
            "from ..rules.elastic import RULES",
            "targets.dataflow.rules.elastic.RULES",
        ),
    ],
)
def test_judge_that_imports_more_is_found(tmp_path: Path, name: str, text: str, imported: str):
    lawful = "from gridloom.archs.model import Arch\nfrom gridloom.errors import MappingError"
    package = tree(tmp_path, {name: text, "verify/legal.py": lawful, "search.py": text})
    (found,) = judge_breaches(package)
    assert found.endswith(f"imports gridloom.{imported}")


def test_mapper_that_imports_another_is_found(tmp_path: Path):
    package = tree(
        tmp_path,
        {
            "targets/grid/mappers/anneal.py": "from gridloom.targets.grid.mappers import place\nfrom . import exact",
            "targets/grid/mappers/exact.py": "from gridloom.targets.grid.mappers.exact import model",
            "targets/grid/mappers/place/swap.py": "from ..anneal import AnnealConfig",
        },
    )
    found = mapper_breaches(package, frozenset({"targets.grid.mappers.anneal", "targets.grid.mappers.exact"}))
    assert found == [
        "targets.grid.mappers.anneal:2 imports gridloom.targets.grid.mappers.exact",
        "targets.grid.mappers.place.swap:1 imports gridloom.targets.grid.mappers.anneal",
    ]


def test_mapper_looked_up_by_a_checker_is_found(tmp_path: Path):
    text = "from gridloom import registry\nregistry.load('mappers', 'anneal')\nregistry.load('archs', 'mesh')"
    package = tree(tmp_path, {"verify/legal.py": text, "flow.py": text, "targets/rows/rules/rows.py": text})
    assert registry_breaches(package) == [
        "targets.rows.rules.rows:2 looks up mappers",
        "verify.legal:2 looks up mappers",
    ]


def test_judge_looked_up_by_a_mapper_is_found(tmp_path: Path):
    text = "registry.hook('machines', 'elastic')\nregistry.hooks_for('passes', arch)"
    package = tree(tmp_path, {"targets/rows/mappers/width.py": text, "flow/run.py": text, "sim/compare.py": text})
    assert registry_breaches(package) == [
        "flow.run:1 looks up machines",
        "targets.rows.mappers.width:1 looks up machines",
    ]


def test_modules_that_a_mapper_reaches_are_counted(tmp_path: Path):
    lazy = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from gridloom.dfg.model import Dfg\n"
    package = tree(
        tmp_path,
        {
            "dfg/__init__.py": lazy + "_HOME = {'Dfg': 'model', 'check': 'checks'}\ndef __getattr__(name): ...",
            "dfg/model.py": "from gridloom import errors",
            "dfg/checks.py": "",
            "errors.py": "",
            "search/__init__.py": "from gridloom.search import budget",
            "search/budget.py": "",
            "search/settings.py": "",
            "run/__init__.py": "LIMIT = 1",
            "run/store.py": "",
            "targets/grid/mappers/anneal.py": "from . import place\nfrom gridloom.dfg import Dfg",
            "targets/grid/mappers/place.py": "def f():\n    import gridloom.search.settings, gridloom.run.store",
            "targets/grid/mappers/typed.py": "if TYPE_CHECKING:\n    from gridloom.dfg.checks import check",
        },
    )
    assert shared_modules(package, "gridloom.targets.grid.mappers.anneal:anneal") == [
        "gridloom.dfg.model", "gridloom.errors", "gridloom.run", "gridloom.run.store", "gridloom.search.budget",
        "gridloom.search.settings",
    ]  # fmt: skip
    assert shared_modules(package, "gridloom.targets.grid.mappers.typed") == []


def test_list_of_shared_modules_is_read_from_a_page():
    shared = "## Shared modules\n\nText.\n\n- `gridloom.dfg.model`\n- gridloom.errors\n\n"
    page = f"# Grid\n\n{shared}## Next\n\n- gridloom.jit\n"
    assert listed_modules(page) == ["gridloom.dfg.model", "gridloom.errors"]


@pytest.mark.parametrize(
    "text",
    [
        "print(1)",
        "import sys\nsys.exit(2)",
        "import os\nos.environ['A']",
        "import os\nos.getenv('A')",
        "raise SystemExit(1)",
    ]
    + ["from os import environ", "import sys\nsys.stdout.write('a')"],
)
def test_talk_outside_cli_is_found(tmp_path: Path, text: str):
    lawful = {"cli.py": text, "cli/output.py": text, "targets/grid/commands/vpr.py": text}
    package = tree(tmp_path, {**lawful, "flow.py": text, "targets/grid/mappers/anneal.py": text})
    assert [message.split(":")[0] for message in talk_breaches(package)] == ["flow", "targets.grid.mappers.anneal"]


def test_torch_outside_learned_models_is_found(tmp_path: Path):
    text = "def f():\n    import torch.nn"
    lawful = {"targets/rows/learned/gnn.py": text, "targets/dataflow/frontend/torch_module.py": text}
    package = tree(tmp_path, {**lawful, "learn/boosted.py": text, "targets/rows/mappers/width.py": text})
    assert learning_breaches(package) == [
        "learn.boosted:2 imports torch.nn",
        "targets.rows.mappers.width:2 imports torch.nn",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "arch.spec['family'] == 'mesh'",
        "details.arch.spec.get('family')",
        "if layout.family == 'hex': pass",
        "one.arch.name.startswith('vpcma')",
        "'hex' == arch.family",
        "'flow_starts_apart' in arch.rules",
        "'flow_starts_apart' not in read(text).rules",
    ],
)
def test_question_for_a_family_is_found(tmp_path: Path, text: str):
    lawful = {"targets/grid/families/mesh.py": text, "archs/spec.py": text}
    package = tree(tmp_path, {**lawful, "emit/svg.py": text, "targets/grid/picture.py": text})
    assert [message.split(":")[0] for message in family_breaches(package)] == ["emit.svg", "targets.grid.picture"]


@pytest.mark.parametrize(
    "text", ["arch.has('spokes')", "f'on {arch.family}'", "spec['rows']", "group.family == 2", "name.startswith('a')"]
)
def test_question_for_a_trait_passes(tmp_path: Path, text: str):
    assert family_breaches(tree(tmp_path, {"emit/svg.py": text})) == []


def test_circle_of_imports_is_found(tmp_path: Path):
    package = tree(
        tmp_path,
        {
            "sim/a.py": "from gridloom.sim.b import B",
            "sim/b.py": "import gridloom.sim.c",
            "sim/c.py": "try:\n    from . import a\nexcept ImportError:\n    pass",
            "sim/d.py": "def f():\n    from gridloom.sim.e import E",
            "sim/e.py": "if TYPE_CHECKING:\n    from gridloom.sim.f import F\nfrom gridloom.sim.d import f",
            "sim/f.py": "from gridloom.sim.e import E",
        },
    )
    assert import_cycles(package) == [["sim.a", "sim.b", "sim.c"]]
