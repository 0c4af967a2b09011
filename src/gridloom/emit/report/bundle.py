"""ES modules joined into one script, for pages that have to be one file.

A page that a server sends imports its modules one by one. A page that is mailed has one inline script, which its policy
allows by a hash. Both are made of the same files: :func:`bundle` makes a function of each module, puts it after those
that it imports, and hands over what they export.

The modules keep to a simple form, which :func:`bundle` checks: named imports at the head of a file, each on one line,
and exported functions, classes and constants.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources
from typing import Final

_IMPORT: Final = re.compile(r'^import \{([^}]*)\} from "(?:\.{1,2}/)*([\w/.-]+)";\n', re.M)
_EXPORT: Final = re.compile(r"^export ((?:async )?(?:function|class|const|let) (\w+))", re.M)
_LEFT: Final = re.compile(r"^(?:import|export)\b.*", re.M)


def drawing_modules() -> dict[str, str]:
    """Return the modules that draw, by file name: what the report and the studio share."""
    folder = resources.files("gridloom.emit.report").joinpath("assets", "drawing")
    return {item.name: item.read_text(encoding="utf-8") for item in folder.iterdir() if item.name.endswith(".js")}


def bundle(entry: str, modules: Mapping[str, str]) -> str:
    r"""Return one script that does what the module called ``entry`` does with all that it imports.

    ``modules`` has the text of each module by its file name; folders in imports are passed over. ValueError for an
    import that is not there, modules that import each other, and a form that cannot be joined.

    >>> print(bundle("b.js", {"a.js": "export const x = 1;\n", "b.js": 'import { x } from "./a.js";\nlog(x);\n'}))
    "use strict";
    const modules = {};
    modules["a.js"] = (() => {
    const x = 1;
    return { x };
    })();
    modules["b.js"] = (() => {
    const { x } = modules["a.js"];
    log(x);
    return {  };
    })();
    <BLANKLINE>
    """
    order: list[str] = []
    _collect(entry, modules, order, ())
    parts = ['"use strict";\nconst modules = {};\n']
    for name in order:
        exported = ", ".join(match[2] for match in _EXPORT.finditer(modules[name]))
        text = _IMPORT.sub(_taken, _EXPORT.sub(r"\1", modules[name]))
        if left := _LEFT.search(text):
            raise ValueError(f"{name}: cannot be joined: {left[0]}")
        parts.append(f'modules["{name}"] = (() => {{\n{text}return {{ {exported} }};\n}})();\n')
    return "".join(parts)


def _taken(match: re.Match[str]) -> str:
    """What stands for an import: the names, taken from what the module has handed over."""
    return f'const {{{match[1]}}} = modules["{_file(match[2])}"];\n'


def _file(path: str) -> str:
    """The file name of an import."""
    return path.rpartition("/")[2]


def _collect(name: str, modules: Mapping[str, str], order: list[str], above: tuple[str, ...]) -> None:
    """Append a module to ``order`` after those that it imports."""
    if name in order:
        return
    if name in above:
        raise ValueError(f"modules import each other: {' -> '.join((*above, name))}")
    if name not in modules:
        raise ValueError(f"{above[-1] if above else 'the page'} imports {name}, which is not there")
    for match in _IMPORT.finditer(modules[name]):
        _collect(_file(match[2]), modules, order, (*above, name))
    order.append(name)
