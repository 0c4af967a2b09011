"""Who may import whom. A checker that shares code with a mapper shares its bugs; these tests keep them apart.

The rules hold for every import statement, those inside functions included, for `import_module("gridloom....")` with a
literal name, and for looking a mapper up in the registry, which is an import of `map` by another road.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
import rustworkx

from gridloom.registry import REGISTRY

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "gridloom"

EVERYONE_MAY = frozenset({"errors", "jit", "limits", "registry", "text_file", "yaml_text", "_version"})
NOUNS = frozenset({"dfg", "archs", "mapping"})
TOOLS = frozenset(
    {"frontend", "transform", "estimate", "partition", "mappers", "verify", "sim", "emit", "hardware", "run"}
)

# Unit -> the other units it may import, besides those that everyone may. `dfg.ops` is a part of a unit.
MAY_IMPORT: dict[str, frozenset[str]] = {
    "errors": frozenset(),
    "jit": frozenset(),
    "registry": frozenset(),
    "_version": frozenset(),
    "dfg": frozenset(),
    "limits": frozenset(),
    "text_file": frozenset(),
    "yaml_text": frozenset(),
    "archs": frozenset({"dfg.ops"}),
    "mapping": frozenset({"dfg", "archs"}),
    "frontend": NOUNS,
    "transform": NOUNS,
    "estimate": NOUNS,
    "partition": NOUNS,
    "mappers": NOUNS | {"estimate"},
    "verify": NOUNS,
    "sim": NOUNS,
    "emit": NOUNS,
    "hardware": NOUNS,
    "learn": NOUNS | TOOLS,
    "run": frozenset(),
    "flow": NOUNS | TOOLS,
    "explore": NOUNS | TOOLS | {"flow"},
    "studio": NOUNS | TOOLS | {"flow", "explore"},
    "cli": NOUNS | TOOLS | {"flow", "explore", "studio", "__init__"},
    "__init__": NOUNS | TOOLS | {"flow", "explore"},
    "__main__": frozenset({"cli"}),
}

#: What both judges may import from the model: data types, the unrolled array, the op table, the parameters of a family.
_DATA = frozenset(
    {
        "archs.families.rdu.RduParameters", "archs.model.Arch", "archs.model.Bank", "archs.model.ISSUE_KINDS",
        "archs.model.Kind", "archs.model.RegisterFile", "archs.model.Tile", "archs.spec.parameters",
        "archs.unroll.ResourceGraph", "dfg.model.Dfg", "dfg.model.Edge", "dfg.model.Initial", "dfg.model.Node",
        "dfg.ops.Op", "dfg.ops.lookup", "mapping.model.Instance", "mapping.model.Mapping", "mapping.model.Route",
        "mapping.program.Channel", "mapping.program.Flow", "mapping.program.HOST", "mapping.program.Program",
    }
)  # fmt: skip

#: Judge -> every name that it may import from the model; what it judges it computes itself. docs/verify.md says which
#: of these mappers use as well, and which test guards them.
JUDGES_MAY: dict[str, frozenset[str]] = {
    "verify": _DATA | {"mapping.mii.mii"},
    "sim": _DATA
    | {
        "dfg.interpreter.Interpreter", "dfg.interpreter.Observation", "dfg.interpreter.OutOfBounds",
        "dfg.interpreter.Stimulus", "dfg.interpreter.Words", "dfg.interpreter.random_stimulus",
        "dfg.semantics.DOMAIN_CODE", "dfg.semantics.encode", "dfg.semantics.evaluate", "dfg.semantics.mix",
        "dfg.semantics.salt", "mapping.configuration.Configuration", "mapping.configuration.Operand",
        "mapping.configuration.Slot", "mapping.configuration.TokenPath", "mapping.configuration.configure",
        "mapping.program.flow_order", "mapping.program.taken",
    },
}  # fmt: skip

TALKS_TO_THE_USER = frozenset({"cli", "__main__"})
#: Limits the threads of worker processes, which BLAS and OpenMP take from the environment and from nowhere else.
SETS_THREAD_LIMITS = {"run.threads"}
#: Finds a compiler by PATH and GRIDLOOM_CLANG, in worker processes too, which only inherit the environment.
FINDS_A_COMPILER = {"frontend.c.llvm.driver"}
LOOKS_UP_MAPPERS = frozenset({"mappers", "learn", "flow", "explore", "studio", "cli", "__init__"})
#: Names under which code holds an array.
ARRAYS = frozenset({"arch", "array", "layout", "small"})
#: Mappers obey the rules that ``verify`` checks; a rule does not tell anybody else what an array is.
KNOWS_RULES = frozenset({"verify", "mappers"})
HEAVY_LEARNING = frozenset({"torch", "torch_geometric", "sb3_contrib", "stable_baselines3", "gymnasium"})


@dataclass(frozen=True)
class Module:
    """A source file of the package: its dotted name without `gridloom.`, and its syntax tree."""

    path: Path
    name: str
    is_package: bool
    tree: ast.Module

    @property
    def unit(self) -> str:
        """The layer's name: the first part of the module's name, `__init__` for the package itself."""
        return self.name.split(".")[0] or "__init__"

    @property
    def parent(self) -> str:
        """The package that a relative import with one dot starts from."""
        return self.name if self.is_package else self.name.rpartition(".")[0]


@dataclass(frozen=True)
class Import:
    """One imported module; `name` is dotted and without `gridloom.` if it is one of ours (empty: the package)."""

    module: Module
    line: int
    ours: bool
    name: str

    @property
    def unit(self) -> str:
        return self.name.split(".")[0] or "__init__"

    def __str__(self) -> str:
        return f"{self.module.name or '__init__'}:{self.line} imports {'gridloom.' if self.ours else ''}{self.name}"


def modules(package: Path) -> list[Module]:
    """All modules of a package tree, sorted by path."""
    found = []
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        found.append(Module(path, name, is_package, _tree(path.read_text(encoding="utf-8"), str(path))))
    return found


@cache
def _tree(text: str, name: str) -> ast.Module:
    """The syntax tree of a file, made once for all tests."""
    return ast.parse(text, name)


def imports(module: Module, package: Path) -> Iterator[Import]:
    """All imports of a module, wherever in it they stand."""
    for node in _importing(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield _imported(module, node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(module, node)
            for alias in node.names:
                deeper = f"{base}.{alias.name}"
                yield _imported(module, node.lineno, deeper if _is_module(package, deeper) else base)
        elif isinstance(node, ast.Call) and _called(node) in {"import_module", "__import__"}:
            literal = _first_literal(node)
            if literal:
                yield _imported(module, node.lineno, literal)


@cache
def _importing(tree: ast.Module) -> list[ast.AST]:
    """The nodes of a tree that may import something."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)]


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    start = module.parent.split(".") if module.parent else []
    kept = start[: len(start) - (node.level - 1)]
    return ".".join(["gridloom", *kept, *(node.module.split(".") if node.module else [])])


def _is_module(package: Path, name: str) -> bool:
    head, *rest = name.split(".")
    return head == "gridloom" and (
        package.joinpath(*rest).is_dir() or package.joinpath(*rest).with_suffix(".py").exists()
    )


def _imported(module: Module, line: int, name: str) -> Import:
    head, _, rest = name.partition(".")
    return Import(module, line, True, rest) if head == "gridloom" else Import(module, line, False, name)


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _first_literal(node: ast.Call) -> str | None:
    match node.args:
        case [ast.Constant(value=str(text)), *_]:
            return text
    return None


def layer_breaches(package: Path) -> list[str]:
    """Imports of ours that the table does not allow, as messages."""
    found = []
    for module in modules(package):
        allowed = MAY_IMPORT.get(module.unit, frozenset()) | EVERYONE_MAY
        for item in imports(module, package):
            same = item.unit == module.unit
            if item.ours and not same and not _allowed(item.name or "__init__", allowed):
                found.append(str(item))
    return found


def judge_breaches(package: Path) -> list[str]:
    """Names of the model that a judge imports and that its list does not have; a module as a whole is no name."""
    found = []
    for module in modules(package):
        listed = JUDGES_MAY.get(module.unit)
        for line, name in _model_names(module) if listed is not None else ():
            if name not in listed:
                found.append(f"{module.name}:{line} imports gridloom.{name}")
    return found


def _model_names(module: Module) -> Iterator[tuple[int, str]]:
    """The line and the dotted name, without `gridloom.`, of everything that a module imports from the model."""
    for node in _importing(module.tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{_absolute(module, node)}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and _called(node) in {"import_module", "__import__"}:
            names = [_first_literal(node) or ""]
        for name in names:
            head, _, rest = name.partition(".")
            if head == "gridloom" and rest.split(".")[0] in NOUNS:
                yield node.lineno, rest


def _allowed(name: str, allowed: frozenset[str]) -> bool:
    parts = name.split(".")
    return any(".".join(parts[: n + 1]) in allowed for n in range(len(parts)))


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
    return next((mapper for mapper in mappers if name == mapper or name.startswith(mapper + ".")), None)


def registry_breaches(package: Path) -> list[str]:
    """Look-ups of mappers in the registry by layers that may not know any mapper."""
    return [
        f"{module.name}:{node.lineno} looks up mappers"
        for module in modules(package)
        if module.unit not in LOOKS_UP_MAPPERS
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and _called(node) in {"load", "entry"} and _first_literal(node) == "mappers"
    ]


def talk_breaches(package: Path) -> list[str]:
    """Printing, exiting, asking and reading the environment outside of cli."""
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
    """Imports of torch and its kin outside of `learn` and of the tensor front end."""
    return [
        str(item)
        for module in modules(package)
        if module.unit != "learn" and not module.name.startswith("frontend.tensor")
        for item in imports(module, package)
        if not item.ours and item.unit in HEAVY_LEARNING
    ]


def family_breaches(package: Path) -> list[str]:
    """Decisions by the name of an array's family, by an array's name or by a rule of ``verify``, outside of archs."""
    return [
        f"{module.name}:{node.lineno} asks for {what}; ask for a trait"
        for module in modules(package)
        if module.unit != "archs"
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
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=rest):
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


def registered_mappers() -> frozenset[str]:
    targets = (target.partition(":")[0] for entry in REGISTRY["mappers"].values() for target in entry.takes.values())
    return frozenset(target.removeprefix("gridloom.") for target in targets if target.startswith("gridloom.mappers."))


def test_package_is_where_these_tests_look():
    assert {"errors", "registry"} <= {module.name for module in modules(PACKAGE)}


def test_every_unit_has_its_place_in_the_table():
    unknown = {module.unit for module in modules(PACKAGE)} - MAY_IMPORT.keys()
    assert not unknown, f"{sorted(unknown)}: say in MAY_IMPORT (and in the design) what these may import"


def test_no_rule_lets_anyone_import_learn():
    assert not [unit for unit, allowed in MAY_IMPORT.items() if "learn" in allowed]


def test_imports_follow_the_layers():
    assert layer_breaches(PACKAGE) == []


def test_judges_import_listed_names_of_the_model_only():
    assert judge_breaches(PACKAGE) == []


def test_every_listed_name_of_the_model_is_imported_by_its_judge():
    imported = {unit: {name for module in modules(PACKAGE) if module.unit == unit for _, name in _model_names(module)}
                for unit in JUDGES_MAY}  # fmt: skip
    assert imported["verify"] | imported["sim"] >= _DATA
    assert [name for unit, listed in JUDGES_MAY.items() for name in sorted(listed - _DATA - imported[unit])] == []


def test_mappers_do_not_import_each_other():
    assert mapper_breaches(PACKAGE, registered_mappers()) == []


def test_only_upper_layers_look_up_mappers():
    assert registry_breaches(PACKAGE) == []


def test_only_cli_prints_exits_or_reads_the_environment():
    assert talk_breaches(PACKAGE) == []


def test_only_learn_and_the_tensor_front_end_import_torch():
    assert learning_breaches(PACKAGE) == []


def test_nobody_outside_archs_decides_by_a_family_or_a_rule():
    assert family_breaches(PACKAGE) == []


def test_no_modules_import_each_other_in_a_circle():
    assert import_cycles(PACKAGE) == []


@pytest.mark.parametrize("module", ["gridloom", "gridloom.cli"])
def test_import_does_not_pay_for_what_it_does_not_use(module: str):
    probe = (
        f"import sys, {module}; print(*sorted({{'numba', 'torch', 'matplotlib', 'distributed'}} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


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
        ("verify/legal.py", "import gridloom.mappers.route.negotiated"),
        ("verify/__init__.py", "from .. import mappers"),
        ("emit/svg.py", "from importlib import import_module\nimport_module('gridloom.sim')"),
        ("mappers/anneal.py", "from gridloom.verify import legal"),
        ("mappers/place/swap.py", "from ...sim import run"),
        ("archs/model.py", "from gridloom.dfg import Dfg"),
        ("archs/model.py", "from gridloom.dfg.model import Dfg"),
        ("archs/families/mesh.py", "from ...dfg import model"),
        ("dfg/model.py", "from gridloom.archs import Arch"),
        ("estimate/bound.py", "from gridloom.partition import split"),
        ("run/store.py", "from gridloom.mapping import Mapping"),
        ("flow.py", "from gridloom.explore import sweep"),
        ("flow.py", "from gridloom.learn.placement.published.ppo import train"),
        ("flow.py", "from . import cli"),
        ("cli/__init__.py", "import gridloom.learn"),
        ("mapping/model.py", "import gridloom"),
        ("mapping/model.py", "from gridloom import __version__"),
        ("elsewhere.py", "from gridloom.dfg import Dfg"),
    ],
)
def test_layer_breach_is_found(tmp_path: Path, name: str, text: str):
    known = dict.fromkeys(
        ["verify/__init__.py", "sim/__init__.py", "mappers/__init__.py", "dfg/ops.py", "dfg/model.py", "cli.py"], ""
    )
    assert len(layer_breaches(tree(tmp_path, {**known, name: text}))) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("archs/model.py", "from gridloom.dfg.ops import OPS"),
        ("archs/model.py", "from gridloom.dfg import ops"),
        ("archs/families/mesh.py", "from ...dfg import ops\nfrom ..model import Arch"),
        ("mapping/model.py", "from gridloom._version import __version__\nfrom gridloom.dfg import Dfg"),
        ("mappers/anneal.py", "from gridloom.estimate import bound\nfrom .place import swap\nimport numpy"),
        ("cli/__init__.py", "import gridloom as gl\nfrom gridloom.flow import run"),
        ("verify/legal.py", "from gridloom.errors import MappingError\nfrom . import rules"),
        ("flow.py", "from . import verify, sim, emit"),
    ],
)
def test_lawful_import_passes(tmp_path: Path, name: str, text: str):
    known = dict.fromkeys(["verify/__init__.py", "sim/__init__.py", "emit/__init__.py", "dfg/ops.py"], "")
    assert layer_breaches(tree(tmp_path, {**known, name: text})) == []


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
        ("sim/elastic/run.py", "from gridloom.dfg import rates", "dfg.rates"),
        ("sim/run.py", "import gridloom.dfg.model", "dfg.model"),
        ("sim/run.py", "from importlib import import_module\nimport_module('gridloom.mapping.mii')", "mapping.mii"),
    ],
)
def test_judge_that_imports_more_of_the_model_is_found(tmp_path: Path, name: str, text: str, imported: str):
    lawful = "from gridloom.archs.model import Arch\nfrom gridloom.errors import MappingError"
    package = tree(tmp_path, {name: text, "verify/legal.py": lawful, "mappers/core.py": text})
    (found,) = judge_breaches(package)
    assert found.endswith(f"imports gridloom.{imported}")


def test_mapper_that_imports_another_is_found(tmp_path: Path):
    package = tree(
        tmp_path,
        {
            "mappers/anneal.py": "from gridloom.mappers.place import swap\nfrom . import exact",
            "mappers/exact.py": "from gridloom.mappers.exact import model",
            "mappers/place/swap.py": "from ..anneal import AnnealConfig",
        },
    )
    found = mapper_breaches(package, frozenset({"mappers.anneal", "mappers.exact"}))
    assert found == [
        "mappers.anneal:2 imports gridloom.mappers.exact",
        "mappers.place.swap:1 imports gridloom.mappers.anneal",
    ]


def test_mapper_looked_up_by_a_checker_is_found(tmp_path: Path):
    text = "from gridloom import registry\nregistry.load('mappers', 'anneal')\nregistry.load('archs', 'mesh')"
    package = tree(tmp_path, {"verify/legal.py": text, "flow.py": text})
    assert registry_breaches(package) == ["verify.legal:2 looks up mappers"]


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
    package = tree(tmp_path, {"flow.py": text, "cli.py": text, "cli/output.py": text})
    assert [message.split(":")[0] for message in talk_breaches(package)] == ["flow"]


def test_torch_outside_learn_is_found(tmp_path: Path):
    text = "def f():\n    import torch.nn"
    package = tree(tmp_path, {"learn/gnn.py": text, "frontend/tensor.py": text, "mappers/anneal.py": text})
    assert learning_breaches(package) == ["mappers.anneal:2 imports torch.nn"]


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
    package = tree(tmp_path, {"emit/svg.py": text, "archs/families/mesh.py": text})
    assert [message.split(":")[0] for message in family_breaches(package)] == ["emit.svg"]


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
