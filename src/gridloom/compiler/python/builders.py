"""Objects of a Python file that have a graph to give: ``FILE.py:OBJECT`` where OBJECT has a method ``build``.

OBJECT is a graph, an object with ``build()``, a class whose objects have it, or a function without parameters that
returns one of these. The file is executed, and so is the method.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

from gridloom.compiler.loops.spec import LoopSpec
from gridloom.compiler.python.module_file import lines_in
from gridloom.dfg.model import Dfg
from gridloom.errors import GridloomError, OptionError, SourceError


def builders_of(module: ModuleType) -> dict[str, Any]:
    """The graphs of a module, and the objects and classes of its own with a method ``build``, by name."""
    return {name: item for name, item in vars(module).items() if not name.startswith("_") and _builds(item, module)}


def build_graph(item: Any, spec: LoopSpec) -> Dfg | None:
    """The graph of an object of a file; None where it is nothing that builds one.

    SourceError names the line that fails, OptionError an option of loops: such a graph is taken as it is.
    """
    name = str(spec.function)
    try:
        made = item() if _is_made_first(item) else item
        graph = made if isinstance(made, Dfg) or not _has_build(made) else made.build()
    except GridloomError as error:
        raise error.at(f"{spec.path}:{name}") from None
    except (Exception, SystemExit) as error:
        lines = lines_in(error, str(spec.path.absolute()))
        place = f"{spec.path}:{lines[-1]}" if lines else str(spec.path)
        raise SourceError(f"{name} cannot be built: {type(error).__name__}: {error}", where=place) from error
    if graph is item and not isinstance(item, Dfg):
        return None
    if not isinstance(graph, Dfg):
        if not _has_build(made):
            return None
        raise SourceError(f"{name}.build() returned a {type(graph).__name__}; expected a Dfg", where=str(spec.path))
    _refuse_options(spec, name)
    return graph


def _builds(item: Any, module: ModuleType) -> bool:
    if inspect.ismodule(item):
        return False
    if inspect.isclass(item):
        return item.__module__ == module.__name__ and _has_build(item)
    return isinstance(item, Dfg) or _has_build(item)


def _has_build(item: Any) -> bool:
    return callable(getattr(item, "build", None))


def _is_made_first(item: Any) -> bool:
    """Whether an object is a class or a function that can be called without arguments."""
    if not inspect.isclass(item) and not inspect.isfunction(item):
        return False
    try:
        inspect.signature(item).bind()
    except (TypeError, ValueError):
        return False
    return True


def _refuse_options(spec: LoopSpec, name: str) -> None:
    """Raise OptionError for an option that is only for loops."""
    plain = LoopSpec(path=Path(spec.path), function=spec.function, ranges=spec.ranges)
    if spec != plain:
        raise OptionError(f"{spec.path}:{name} builds its graph itself and takes no options of loops")
