"""How numba kernels are compiled and kept: decorators, and a cache that knows every source of a kernel.

:data:`kernel` is for functions that Python calls, :data:`internal` for those that only kernels call, :data:`borrowing`
for those of them that make no arrays. Compiling is what a first command waits for, so that

* LLVM optimises a kernel once, together with everything that it calls. numba would optimise each function, and each
  of its callers again. Functions that only kernels call get no machine code of their own.
* The entry from Python, which unpacks the arrays, is not optimised: it runs once per call, and takes as long to
  optimise as the kernel.
* Arrays are copied with :func:`copy_row` and :func:`copy_table`, never with ``a[:] = b``, which compiles the text of
  an error message for shapes that differ.
* A number that is written down in a call is wrapped, ``int64(1)``: numba compiles a function once more for each
  number that it sees as a literal.
* An array of one number is made by ``np.zeros``, not from a list.

A kernel is kept on the disk where numba keeps it: in ``NUMBA_CACHE_DIR``, beside its source or in the user's cache. It
is valid for a digest of its source and of all modules of this package that its source imports, directly or not: numba
itself looks at the kernel's own file only, and runs old code after a callee or a constant has changed. A later version
of a kernel replaces the earlier one, so nothing stale is left. Where no folder can be written, nothing is kept.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numba import _dynfunc, njit
from numba.core import caching, config, event, typed_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import register_pass
from numba.core.runtime import rtsys
from numba.misc.appdirs import AppDirs
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])

#: A number of 64 bits, which the type checker takes for an ``int``, and numba not for a literal.
int64: Any = np.int64

#: numba's listeners hear of it while a kernel is read from the disk or written to it.
DISK_EVENT: Final = "gridloom:disk"

_PACKAGE: Final = Path(__file__).resolve().parent
#: Imports at the top level of a module; those inside functions and for the type checker alone are indented.
_IMPORT: Final = re.compile(rb"^(?:from|import)\s+gridloom\.?([\w.]*)(?:\s+import\s+(\([^)]*\)|[^\n#]*))?", re.M)
_NAME: Final = re.compile(rb"#.*|\bas\s+\w+|(\w+)")
#: How numba begins the name of the function that Python calls.
_ENTRY: Final = "_ZN7cpython"


class _KernelLibrary(JITCodeLibrary):
    """The code of a kernel: LLVM sees it first when everything it calls is there; the entry stays as it is."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if function.name.startswith(_ENTRY) and not function.is_declaration:
                function.add_function_attribute("noinline")
                function.add_function_attribute("optnone")


class _CalleeLibrary(_KernelLibrary):
    """The code of a function that only kernels call: it is optimised as a part of them."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(typed_passes.NativeLowering):
    """Lower a kernel into a library of its kind."""

    _name = "kernel_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower the function and compile it."""
        state.library = _KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _CalleeLowering(typed_passes.NativeLowering):
    """Lower a function that only kernels call, without machine code."""

    _name = "callee_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower the function, and let others find it by an entry that leads nowhere."""
        state.library = _CalleeLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        state.flags.no_compile = False
        lowered = state["cr"]
        described = lowered.fndesc
        entry = _dynfunc.make_function(
            described.lookup_module(), described.qualname.split(".")[-1], "", 0, lowered.env, (state.library,)
        )
        state.targetctx.insert_user_function(entry, described, [state.library])
        state["cr"] = _LowerResult(described, lowered.call_helper, cfunc=entry, env=lowered.env)
        return True


class _KernelCompiler(CompilerBase):
    """numba's own pipeline with another way to lower."""

    lowering: type = _KernelLowering

    def define_pipelines(self) -> list[Any]:
        """Return the one pipeline."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (self.lowering if step is typed_passes.NativeLowering else step, words) for step, words in passes.passes
        ]
        passes._finalized = False
        passes.finalize()
        return [passes]


class _CalleeCompiler(_KernelCompiler):
    lowering = _CalleeLowering


class _Locator(caching._CacheLocator):
    """Where a kernel is kept, and for which sources it is valid."""

    def __init__(self, source: Path, folder: Path) -> None:
        self._py_file = str(source)
        self._folder = folder

    def get_cache_path(self) -> str:
        """Return the folder."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """Return the digest of all sources."""
        return digest_sources(Path(self._py_file))

    def get_disambiguator(self) -> str:
        """Return nothing: a name is used once in a module, and a function that moved replaces its earlier version."""
        return ""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator | None:
        """Return the locator with the first folder that can be written; None: there is no such folder."""
        source = Path(py_file)
        return next((cls(source, folder) for folder in _folders(source) if _is_writable(folder)), None)


class _KernelCacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = [_Locator]


class _KernelCache(caching.FunctionCache):
    _impl_class = _KernelCacheImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for a signature; None: it has to be compiled.

        numba's own method first loads all that numba can compile, which takes several times as long as the code. Code
        that is compiled already needs the run-time system alone; :meth:`Dispatcher.compile` loads the rest if it has
        to.
        """
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


class _LazyCache(caching._Cache):
    """The cache of a kernel, made when the kernel is first called: importing a kernel touches no file but its own."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._made: Any = None

    def _cache(self) -> Any:
        if self._made is None:
            try:
                self._made = _KernelCache(self._function)
            except RuntimeError:
                self._made = caching.NullCache()
        return self._made

    @property
    def cache_path(self) -> str | None:
        """The folder; None: nothing is kept."""
        path: str | None = self._cache().cache_path
        return path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for a signature; None: it has to be compiled."""
        with event.trigger_event(DISK_EVENT):
            try:
                return self._cache().load_overload(sig, target_context)
            except (ImportError, AttributeError):
                # What an earlier version kept may name records that are gone, and is read before its digest is.
                self.flush()
                return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code of a signature."""
        with event.trigger_event(DISK_EVENT):
            self._cache().save_overload(sig, data)

    def enable(self) -> None:
        """Use the disk."""
        self._cache().enable()

    def disable(self) -> None:
        """Do not use the disk."""
        self._cache().disable()

    def flush(self) -> None:
        """Forget what is kept."""
        self._cache().flush()


def _folders(source: Path) -> Iterator[Path]:
    """The folders that may keep the kernels of a file, in order: named by the user, beside the file, of the user."""
    own = caching._CacheLocator.get_suitable_cache_subpath(str(source))
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR) / own
    yield source.parent / "__pycache__"
    yield Path(AppDirs(appname="numba", appauthor=False).user_cache_dir) / own


@cache
def _is_writable(folder: Path) -> bool:
    """Whether files can be made in a folder, which is made where it is missing. Asked once per folder."""
    import tempfile

    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


@cache
def digest_sources(source: Path, package: Path = _PACKAGE) -> str:
    """Return a digest of a file and of all modules of the package that it imports at its top level, transitively.

    Reads each file once per process: a few milliseconds for the kernels of a command.
    """
    found, waiting = {source}, [source]
    while waiting:
        new = _imported(waiting.pop(), package) - found
        found |= new
        waiting.extend(new)
    digest = hashlib.sha256()
    for path in sorted(found):
        digest.update(f"{path.name} {len(_text(path))} ".encode() + _text(path))
    return digest.hexdigest()


@cache
def _text(path: Path) -> bytes:
    return path.read_bytes()


@cache
def _imported(source: Path, package: Path) -> frozenset[Path]:
    """The files of the package that a file imports itself."""
    paths: set[Path] = set()
    for module, names in _IMPORT.findall(_text(source)):
        base = package.joinpath(*module.decode().split(".")) if module else package
        listed = [name.decode() for name in _NAME.findall(names) if name]
        for place in (base, *(base / name for name in listed)):
            paths |= {path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()}
    return frozenset(paths)


def _compile(function: Callable[..., Any], compiler: type, options: dict[str, Any]) -> Any:
    """Hand a function to numba. Costs nothing before the first call."""
    chosen = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}
    compiled: Any = njit(pipeline_class=compiler, **chosen)(function)
    if compiler is _KernelCompiler:
        compiled._cache = _LazyCache(function)
    return compiled


def compile_kernel(**options: Any) -> Callable[[F], F]:
    """Return a decorator for functions that Python calls, with further options of numba's.

    The function runs without the interpreter's lock, and its code is kept on the disk.
    """
    return lambda function: _compile(function, _KernelCompiler, options)


def compile_internal(**options: Any) -> Callable[[F], F]:
    """Return a decorator for functions that only kernels call, with further options of numba's."""
    return lambda function: _compile(function, _CalleeCompiler, {"no_cpython_wrapper": True, **options})


#: For a function that Python calls.
kernel = compile_kernel()

#: The same, where a division by zero raises ZeroDivisionError as in Python.
checked_kernel = compile_kernel(error_model="python")

#: For a function that only kernels call: it is compiled as a part of them.
internal = compile_internal()

#: For a function that only kernels call and that makes no arrays. It counts no references to those that it is given,
#: which are kept by the kernel that Python called: the counting is most of the code of a function with many arrays, and
#: of its time where it is called often.
borrowing = compile_internal(_nrt=False)


@borrowing
def copy_row(source: NDArray[Any], target: NDArray[Any]) -> None:
    """Copy a row of numbers into another one of the same length."""
    for k in range(len(source)):
        target[k] = source[k]


@borrowing
def copy_table(source: NDArray[Any], target: NDArray[Any]) -> None:
    """Copy a table of numbers into another one of the same shape."""
    rows, columns = source.shape
    for r in range(rows):
        for c in range(columns):
            target[r, c] = source[r, c]
