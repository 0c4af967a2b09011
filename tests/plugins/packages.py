"""Packages that are found like installed ones: a module, and the folder of metadata beside it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

#: A plug-in with one of each: what it prints when it is imported shows whether it was.
GOOD = """
import sys
sys.stderr.write("good_plugin is imported\\n")
from gridloom.registry import ArrayKind, Command, Entry, Mapper, Reader, Target

TARGET = Target(
    name="good",
    summary="one of each",
    traits={"rings": "The tiles stand in a ring."},
    mappers={"delegate": Mapper({"grid": "good_plugin:delegate"}, "asks anneal")},
    archs={"square": Entry("good_plugin:square", "a mesh of equal sides")},
    kernels={"twice": Entry("good_plugin:TWICE", "y = 2 x")},
    readers={"lines": Reader("good_plugin:read", "a chain of additions: *.chain", endings=(".chain",))},
    costs={"none": Entry("good_plugin:none", "knows nothing")},
    suites={"good": Entry("good_plugin:good.yaml", "one cell")},
    commands={"greet": Command("good_plugin:greet", "Greet someone.")},
    hooks={"report_cards": {"rings": "good_plugin:card"}, "exports": {"good": "good_plugin:export"}},
)


def delegate(dfg, arch, budget):
    from gridloom.search.choice import config_type, function_for

    anneal = function_for("anneal", arch)
    return anneal(dfg, arch, config_type(anneal)(), budget)


def square(spec):
    from gridloom.archs import build

    return build(f"mesh:{spec['tiles']}x{spec['tiles']}")


class Twice:
    def build(self, times=1):
        return chain(times, "twice")


TWICE = Twice()


def chain(count, name):
    from gridloom import DfgBuilder

    builder = DfgBuilder(name)
    value = builder.input("x")
    for _ in range(count):
        value = builder.add("add", value, value)
    builder.output(value, "y")
    return builder.build()


def read(path):
    return chain(len(path.read_text().split()), path.stem)


def none():
    return None


def greet(*, name: str = "you") -> int:
    "Greet someone."
    print(f"hello {name}")
    return 0


def export(mapping):
    return "exported"


def card(result):
    return ""
"""


def install(folder: Path, package: str, points: dict[str, str], version: str = "1.0", **modules: str) -> None:
    """Write modules into a folder of the path, and the metadata that make their entry points known."""
    metadata = folder / f"{package.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    lines = [f"{name} = {place}" for name, place in points.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[gridloom.plugins]", *lines, ""]))
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))


def run_python(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A finished Python of its own that finds the packages of a folder, and nothing else that is installed there."""
    path = os.pathsep.join([str(folder), str(REPOSITORY / "src")])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    return subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=False,
                          timeout=300)  # fmt: skip
