"""Kernels on the disk: valid for all of their sources, replaced when one changes, dispensable."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gridloom import jit

CALLEE = """
from gridloom.jit import borrowing
from gridloom.constants import STEP

@borrowing
def step(value):
    return value + {sign}STEP
"""

KERNEL = """
from gridloom.jit import kernel
from gridloom.callee import (
    step,  # called below
)

@kernel
def walk(value):
    return step(value)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with a kernel, a function that it calls, and a constant of that function."""
    folder = tmp_path / "gridloom"
    folder.mkdir()
    shutil.copy(jit.__file__, folder / "jit.py")
    (folder / "__init__.py").touch()
    (folder / "constants.py").write_text("STEP = 1\n")
    (folder / "callee.py").write_text(CALLEE.format(sign=""))
    (folder / "kernel.py").write_text(KERNEL)
    (folder / "unrelated.py").write_text("import gridloom.kernel\n")
    return folder


def digest(package: Path) -> str:
    jit._text.cache_clear()
    jit._imported.cache_clear()
    return jit.digest_sources.__wrapped__(package / "kernel.py", package)


@pytest.mark.parametrize("changed", ["kernel.py", "callee.py", "constants.py", "jit.py"])
def test_the_digest_of_a_kernel_depends_on_everything_it_imports(package: Path, changed: str):
    before = digest(package)
    (package / changed).write_text((package / changed).read_text() + "\n# changed\n")
    assert digest(package) != before


def test_the_digest_of_a_kernel_does_not_depend_on_other_modules(package: Path):
    before = digest(package)
    (package / "unrelated.py").write_text("import gridloom.kernel\n# changed\n")
    assert digest(package) == before


def run_kernel(package: Path) -> tuple[str, str]:
    """What the kernel of the package returns for 10 in a process of its own, and whether it came from the disk."""
    code = "from gridloom.kernel import walk; print(walk(10), 'loaded' if walk.stats.cache_hits else 'compiled')"
    environment = {"PYTHONPATH": str(package.parent), "HOME": str(package.parent), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    value, source = done.stdout.split()
    return value, source


def test_a_kernel_whose_callee_or_constant_changed_is_compiled_again_and_replaced(package: Path):
    assert run_kernel(package) == ("11", "compiled")
    assert run_kernel(package) == ("11", "loaded")
    kept = sorted(path.name for path in package.rglob("*.nb?"))
    (package / "callee.py").write_text(CALLEE.format(sign="-"))
    assert run_kernel(package) == ("9", "compiled")
    (package / "constants.py").write_text("STEP = 5\n")
    assert run_kernel(package) == ("5", "compiled")
    assert sorted(path.name for path in package.rglob("*.nb?")) == kept


def test_a_kernel_is_loaded_without_what_only_compilation_needs(package: Path):
    wanted = "numba.np.arraymath"
    probe = f"\nimport sys\nprint({wanted!r} in sys.modules)"
    kernel = package / "kernel.py"
    kernel.write_text(KERNEL + "\nprint(walk(10))" + probe)
    command, environment = [sys.executable, str(kernel)], {"PYTHONPATH": str(package.parent), "HOME": str(package)}
    runs = [subprocess.run(command, env=environment, capture_output=True, text=True, check=True) for _ in range(2)]
    assert [run.stdout.split() for run in runs] == [["11", "True"], ["11", "False"]]


def test_a_kernel_that_was_kept_with_records_that_are_gone_is_compiled_again(package: Path):
    assert run_kernel(package) == ("11", "compiled")
    (index,) = package.rglob("*.nbi")
    with index.open("rb") as stream:
        version = pickle.load(stream)
    gone = b"cgridloom.records_that_are_gone\nRecord\n."
    index.write_bytes(pickle.dumps(version) + gone)
    assert run_kernel(package) == ("11", "compiled")
    assert run_kernel(package) == ("11", "loaded")


def test_a_kernel_beside_which_nothing_can_be_written_is_kept_in_the_cache_of_the_user(monkeypatch: pytest.MonkeyPatch):
    source = Path(jit.__file__)
    monkeypatch.setattr(jit.config, "CACHE_DIR", "")
    monkeypatch.setattr(jit, "_is_writable", lambda folder: folder != source.parent / "__pycache__")
    located = jit._Locator.from_function(None, str(source))
    assert located is not None
    assert Path(located.get_cache_path()).parent.name == "numba"


def test_a_kernel_is_not_kept_where_no_folder_can_be_written(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jit, "_is_writable", lambda _folder: False)

    @jit.kernel
    def double(value: int) -> int:
        return 2 * value

    assert double(21) == 42
    assert double._cache.cache_path is None
