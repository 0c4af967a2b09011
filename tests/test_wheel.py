"""The built wheel in an empty environment: the demo, hints, nothing of the checkout; and the source distribution."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from gridloom import __version__

REPOSITORY = Path(__file__).resolve().parents[1]
CONSTRAINTS = REPOSITORY / "constraints.txt"

pytestmark = pytest.mark.slow


def run(*command: object, folder: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    """A finished program that sees neither the checkout nor the environment of the tests."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "NUMBA_CACHE_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {"PIP_CONSTRAINT": str(CONSTRAINTS), "PIP_BUILD_CONSTRAINT": str(CONSTRAINTS)}
    environment["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=check)


def build_wheel(folder: Path) -> Path:
    """The wheel of the checkout."""
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, REPOSITORY, folder=folder)
    (wheel,) = folder.glob("gridloom-*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and its C front end, and nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "venv", folder / "venv", folder=folder)
    run(folder / "venv/bin/pip", "install", "--quiet", f"{build_wheel(folder)}[c]", folder=folder)
    return folder / "venv"


def test_the_wheel_runs_the_demo(installed: Path, tmp_path: Path) -> None:
    source = installed / "share/gridloom/examples/kernels/fir.c"
    options = ("--arch", "torus:4x4", "--seed", "1", "--effort", "20000", "-o", "mapping.json", "--html", "report.html")
    shown = run(installed / "bin/gridloom", "show", source, folder=tmp_path).stdout
    mapped = run(installed / "bin/gridloom", "map", source, *options, folder=tmp_path).stdout
    judged = run(installed / "bin/gridloom", "show", "mapping.json", folder=tmp_path).stdout
    assert "fir" in shown and "fir" in judged
    assert mapped.startswith("mapped: fir ") and "legal, and simulated" in mapped
    assert (tmp_path / "report.html").is_file()


def test_the_wheel_has_the_version_and_names_itself_in_hints(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "bin/gridloom", "--version", folder=tmp_path).stdout.strip().endswith(__version__)
    asked = ("map", "kernel:fir", "--arch", "torus:4x4", "--mapper", "exact")
    refused = run(installed / "bin/gridloom", *asked, folder=tmp_path, check=False)
    assert refused.returncode == 2
    assert f"gridloom-{__version__}-py3-none-any.whl[exact]'" in refused.stderr


def names_in(wheel: Path) -> set[str]:
    """The files of a wheel, without the list of them."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("RECORD")}


def test_the_source_distribution_builds_the_same_wheel(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path, folder=REPOSITORY)
    (archive,) = tmp_path.glob("gridloom-*.tar.gz")
    assert archive.name == f"gridloom-{__version__}.tar.gz"
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    for name in (
        "README.md",
        "CITATION.cff",
        "CHANGELOG.md",
        "LICENSE",
        "docs/index.md",
        "changes/collect.py",
        "tests",
    ):
        assert (unpacked / name).exists(), name
    first, second = tmp_path / "first", tmp_path / "second"
    for source, target in ((REPOSITORY, first), (unpacked, second)):
        target.mkdir()
        words = ("pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", target, source)
        run(sys.executable, "-m", *words, folder=tmp_path)
    assert names_in(next(first.glob("*.whl"))) == names_in(next(second.glob("*.whl")))
