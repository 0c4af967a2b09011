"""Runs the examples of a document: console blocks and Python sessions, in their order and in one folder.

``python -m tests.documents docs/walkthrough.md README.md`` writes the outputs of these documents anew, in a temporary
folder that holds a copy of `examples/`. Console blocks may call `gridloom`, which runs in this process, and `cat`. Of
what `gridloom` prints, standard output is shown; seconds are not compared. A block below ``<!-- file: NAME -->`` is
written into that file before what follows it runs. ``<!-- needs: NAME ... -->`` lists programs and packages without
which a page is not run.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(r"^(?:<!-- file: (\S+) -->\n)?```(\w+)\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
_NEEDS = re.compile(r"<!-- needs: (.*?) -->")


@dataclass
class Session:
    """Runs blocks one after the other and gives each back with the output that it has now."""

    #: Commands for which this says True are not run; their block stays as it is.
    skipped: Callable[[str], bool] = lambda command: False
    names: dict[str, object] = field(default_factory=dict)

    def rerun(self, language: str, block: str) -> str:
        """The text of a block as it would have to be."""
        return self._console(block) if language == "console" else self._python(block)

    def _console(self, block: str) -> str:
        parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
        return "".join(f"$ {part}" if self.skipped(part.partition("\n")[0]) else self._command(part) for part in parts)

    def _command(self, part: str) -> str:
        line = part.partition("\n")[0]
        words, _, target = line.partition(" > ")
        program, *arguments = shlex.split(words)
        out = Path(arguments[0]).read_text(encoding="utf-8") if program == "cat" else _gridloom(program, arguments)
        if target:
            Path(target).write_text(out, encoding="utf-8")
        shown = "" if target else "\n".join(row.rstrip() for row in out.strip("\n").splitlines())
        return f"$ {line}\n{shown}\n" if shown else f"$ {line}\n"

    def _python(self, block: str) -> str:
        text = ""
        for example in doctest.DocTestParser().get_examples(block):
            code, *more = example.source.rstrip("\n").split("\n")
            text += "\n".join([f">>> {code}", *(f"... {row}".rstrip() for row in more)]) + "\n"
            text += _evaluated(example.source, self.names)
        return text + "\n" * block.endswith("\n\n")


def _gridloom(program: str, arguments: list[str]) -> str:
    from gridloom.cli import main

    assert program == "gridloom", program
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        main(arguments)
    return out.getvalue()


def _evaluated(source: str, names: dict[str, object]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, "<document>", "single"), names)
    return out.getvalue()


@contextlib.contextmanager
def folder_with_examples() -> Iterator[Path]:
    """A temporary folder with a copy of `examples/`: the current one for the time being, on Python's path."""
    before, known = Path.cwd(), set(sys.modules)
    with tempfile.TemporaryDirectory() as name:
        shutil.copytree(REPOSITORY / "examples", Path(name) / "examples")
        os.chdir(name)
        sys.path.insert(0, name)
        try:
            yield Path(name)
        finally:
            sys.path.remove(name)
            os.chdir(before)
            for module in {path.stem for path in Path(name).glob("*.py")} - known:
                sys.modules.pop(module, None)


def rerun(text: str, skipped: Callable[[str], bool] = lambda command: False) -> str:
    """A document with every output written anew; the current folder has to hold `examples/`."""
    session = Session(skipped)

    def block(match: re.Match[str]) -> str:
        file, language, body = match.groups()
        if file:
            Path(file).write_text(body, encoding="utf-8")
        if file or language not in ("console", "pycon"):
            return match[0]
        return f"```{language}\n{session.rerun(language, body)}```"

    return _BLOCK.sub(block, text)


def missing_of(text: str) -> list[str]:
    """The programs and packages that a document needs and this machine lacks."""
    found = " ".join(_NEEDS.findall(text)).split()
    return [name for name in found if not shutil.which(name) and importlib.util.find_spec(name) is None]


def without_seconds(text: str) -> str:
    """Text without the times that a machine decides."""
    return re.sub(r"\d+\.\d+ s\b", "N s", text)


def main() -> None:
    for name in sys.argv[1:]:
        path = REPOSITORY / name
        text = path.read_text(encoding="utf-8")
        with folder_with_examples():
            path.write_text(rerun(text), encoding="utf-8")


if __name__ == "__main__":
    main()
