"""The working folder: which files the studio reads and writes, and which it does not.

Everything a page names goes through :meth:`Workspace.path`. What leads outside the folder, by ``..``, as an absolute
path or over a link, is refused, and so is what is no regular file.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gridloom import registry
from gridloom.compiler.loops.source_name import SourceName, split, with_file
from gridloom.emit.files import write_atomically
from gridloom.errors import GridloomError, OptionError
from gridloom.text_file import read_text, shown

#: Characters of a source in the editor, and files that the list shows.
MOST_TEXT: Final = 1_000_000
MOST_FILES: Final = 500
_MOST_LOOKED_AT: Final = 5000

#: Endings of files by what they are.
KINDS: Final = {
    "source": (".c", ".py", ".mlir", ".dot", ".gv"),
    "array": (".yaml", ".yml"),
    "mapping": (".json",),
    "store": (".sqlite", ".db"),
}
#: What the studio may write.
_WRITTEN: Final = (".c", ".py", ".mlir", ".yaml", ".yml", ".json", ".html", ".vcd")


@dataclass(frozen=True, slots=True)
class Workspace:
    """One folder of the user's, and a folder of the studio's own for texts that are not saved yet."""

    folder: Path
    scratch: Path

    def path(self, name: str) -> Path:
        """The file of a name within the folder; OptionError for what leads elsewhere. It need not exist."""
        if not name or "\0" in name or len(name) > 1000:
            raise OptionError(f"{shown(name)} is no file name")
        root = self.folder.resolve()
        found = (root / name).resolve()
        if not found.is_relative_to(root) or found == root:
            raise OptionError(f"{shown(name)} is outside of the working folder; start the studio in its folder")
        return found

    def read(self, name: str) -> str:
        """The text of a file of the folder, at most ``MOST_TEXT`` bytes; OptionError or SourceError says why not."""
        return read_text(self.path(name), limit=MOST_TEXT)

    def write(self, name: str, text: str) -> str:
        """Write a file of the folder, whole or not at all; returns its name within the folder.

        OptionError for another kind of file than the studio writes, and for a folder that does not exist.
        """
        path = self.path(name)
        if path.suffix not in _WRITTEN:
            raise OptionError(f"{shown(name)}: the studio writes {', '.join(_WRITTEN)} files")
        if not path.parent.is_dir():
            raise OptionError(f"{shown(name)}: there is no such folder; make it first")
        if path.exists() and not path.is_file():
            raise OptionError(f"{shown(name)} is no regular file")
        write_atomically(path, text)
        return str(path.relative_to(self.folder.resolve()))

    def files(self) -> list[dict[str, object]]:
        """The files that can be opened, by name; folders whose names begin with a dot are passed over."""
        kinds = {ending: kind for kind, endings in KINDS.items() for ending in endings}
        found: list[dict[str, object]] = []
        looked = 0
        root = self.folder.resolve()
        for at, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if not name.startswith((".", "_")) and name != "node_modules")
            for name in sorted(names):
                looked += 1
                path = Path(at, name)
                kind = kinds.get(path.suffix)
                if kind is not None and path.is_file() and path.resolve().is_relative_to(root):
                    if kind == "array" and not _describes_array(path):
                        continue
                    found.append({"name": str(path.relative_to(root)), "kind": kind, "size": path.stat().st_size})
            if looked > _MOST_LOOKED_AT or len(found) >= MOST_FILES:
                break
        return found[:MOST_FILES]

    # -- what a request names -----------------------------------------------------------------------------------------

    def source(self, text: str, *, may_run: bool) -> SourceName:
        """The source that a page asks for, with its file inside the folder.

        Python files are executed when they are read: OptionError unless the user has said that this one may be.
        """
        asked = split(text) if not self._is_whole(text) else SourceName(file=text)
        if not asked.file and asked.rest:
            return asked
        # A link has another ending than its file: both are asked.
        SourceName(file=asked.file, may_run=may_run).check_consent()
        found = with_file(asked, str(self.path(asked.file)), may_run=may_run)
        found.check_consent()
        return found

    def _is_whole(self, text: str) -> bool:
        """Whether a text is the name of a file of the folder as it stands, a colon included."""
        return ":" in text and self.path(text).is_file()

    def array(self, text: str) -> str:
        """The ARCH that a page asks for: a family with parameters, or a file inside the folder."""
        head = text.partition(":")[0].partition(",")[0]
        if registry.has("archs", head) and not text.endswith((".yaml", ".yml", ".xml", ".json")):
            return text
        path = self.path(text)
        if not path.is_file():
            known = ", ".join(registry.names("archs"))
            raise OptionError(f"no array family and no file is called {shown(head)}; families: {known}", where="array")
        return str(path)

    def keep(self, name: str, text: str) -> str:
        """A file with this text: the saved one where it has it, else one of the studio's own; returns its path.

        Headers beside the saved file go along, so that a C source finds what it includes.
        """
        if len(text) > MOST_TEXT:
            raise OptionError(f"the source has {len(text)} characters; the studio takes at most {MOST_TEXT}")
        path = self.path(name)
        if path.suffix not in (".c", ".py", ".mlir", ".dot"):
            raise OptionError(f"{shown(name)}: the editor takes .c, .py, .mlir and .dot files")
        if path.is_file() and self.read(name) == text:
            return str(path)
        copy = self.scratch / path.name
        write_atomically(copy, text)
        headers = sorted(path.parent.glob("*.h"))[:50] if path.parent.is_dir() and path.suffix == ".c" else []
        for header in headers:
            if header.is_file() and header.resolve().is_relative_to(self.folder.resolve()):
                write_atomically(self.scratch / header.name, read_text(header, limit=MOST_TEXT))
        return str(copy)


def _describes_array(path: Path) -> bool:
    """Whether a YAML file has the keys that an array begins with: a family, or a style with tiles."""
    try:
        head = read_text(path, limit=MOST_TEXT)
    except (GridloomError, OSError):
        return False
    return re.search(r"^(family|style)\s*:", head, re.MULTILINE) is not None
