"""Python files as modules: they are executed, and what goes wrong there is an error that names their line.

A file that does more than define is imported in a process of its own first (:mod:`gridloom.compiler.python.trial`),
so that one that exits or hangs is an error as well.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType

from gridloom.compiler.python.definitions import only_defines
from gridloom.compiler.python.trial import try_import
from gridloom.errors import GridloomError, SourceError
from gridloom.text_file import read_text


def execute(path: Path, *, keep: bool = False) -> ModuleType:
    """The module of a Python file, executed; SourceError, with the line, for one that is missing or fails.

    ``keep`` leaves it in ``sys.modules``, for libraries that look up the module of a class later.
    """
    text = read_text(path)
    spec = importlib.util.spec_from_file_location(f"gridloom_source_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise SourceError("cannot be imported as a Python module", where=str(path))
    module = importlib.util.module_from_spec(spec)
    if not only_defines(text):
        try_import(path, spec.name)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except GridloomError as error:
        raise error.at(str(path)) from None
    except SyntaxError as error:
        raise SourceError(f"is not Python: {error.msg}", where=f"{path}:{error.lineno}") from None
    except (Exception, SystemExit) as error:
        lines = lines_in(error, str(path.absolute()))
        place = f"{path}:{lines[-1]}" if lines else str(path)
        raise SourceError(f"cannot be imported: {type(error).__name__}: {error}", where=place) from None
    finally:
        if not keep:
            sys.modules.pop(spec.name, None)
    return module


def lines_in(error: BaseException, file: str) -> list[int]:
    """The lines of a file that an error passed through, the innermost last."""
    frames = traceback.extract_tb(error.__traceback__)
    return [frame.lineno for frame in frames if frame.filename == file and frame.lineno is not None]
