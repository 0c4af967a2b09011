"""Code lines of a source tree: lines that hold code, without blanks, comments and docstrings.

    python benchmarks/code_lines.py [FOLDER] [--by DEPTH]

The default is `src/gridloom` without `testing`. A line counts once, whatever stands on it; the lines of a string that
is no docstring count all. `--by 1` prints a row for each package, `--by 2` for each folder below.
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

_NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def count_lines(text: str) -> int:
    """Code lines of one file."""
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in _NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - set(_docstring_lines(ast.parse(text))))


def source_files(folder: Path) -> list[Path]:
    """The Python files of a folder without those of ``testing``."""
    return [path for path in sorted(folder.rglob("*.py")) if "testing" not in path.parts]


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        match node:
            case (
                ast.Module(body=[first, *_])
                | ast.ClassDef(body=[first, *_])
                | ast.FunctionDef(body=[first, *_])
                | ast.AsyncFunctionDef(body=[first, *_])
            ):
                match first:
                    case ast.Expr(value=ast.Constant(value=str())):
                        yield from range(first.lineno, (first.end_lineno or first.lineno) + 1)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parents[1] / "src" / "gridloom")
    parser.add_argument("--by", type=int, default=0, metavar="DEPTH")
    asked = parser.parse_args()
    counts: Counter[str] = Counter()
    files = source_files(asked.folder)
    for path in files:
        counts["/".join(path.relative_to(asked.folder).parts[:-1][: asked.by])] += count_lines(path.read_text("utf-8"))
    for name, count in sorted(counts.items()) if asked.by else ():
        print(f"{count:7,} {name or '.'}")
    print(f"{sum(counts.values()):7,} in {len(files)} files")


if __name__ == "__main__":
    main()
