"""The Python front end: ``@gridloom.kernel`` turns a plain function with one ``gridloom.loop`` into a graph.

    @gridloom.kernel
    def fir(x: Array[int16], c: Array[int16, 4], y: Array[int16], n: int32):
        for i in loop(n):
            total = 0
            for k in range(4):
                total = total + c[k] * x[i + k]
            y[i] = total >> 15

Called, the function runs as Python on NumPy arrays and numbers: that is the reference. ``fir.graph()`` calls it once
with symbols in their place and writes down what one iteration does; Python's own control flow runs while tracing, so it
may depend on constants only. A module that is named on the command line is imported, hence executed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from types import ModuleType
from typing import Any, overload

from gridloom.compiler.loops.body import Body
from gridloom.compiler.loops.operations import LiveIn, readable
from gridloom.compiler.loops.prologue import elements_of, prologue_values
from gridloom.compiler.loops.reduction import reduce
from gridloom.compiler.loops.source_name import SourceName
from gridloom.compiler.loops.spec import LoopSpec, Memory, parse
from gridloom.compiler.python.arrays import KnownArray, TracedArray
from gridloom.compiler.python.builders import build_graph, builders_of
from gridloom.compiler.python.module_file import execute, lines_in
from gridloom.compiler.python.numbers import ArrayType, StateType, Type, Value, lift
from gridloom.compiler.python.trace import ACTIVE, KernelTrace, TracedLinear
from gridloom.dfg.model import Dfg
from gridloom.errors import GridloomError, OptionError, SourceError, locate_errors
from gridloom.registry import NOTEBOOK


class PythonKernel:
    """A decorated function: call it to run it, ask it for its :meth:`graph`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = function.__name__
        #: What messages call its file.
        self.file = function.__code__.co_filename
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __repr__(self) -> str:
        return f"<kernel {self.name}({', '.join(inspect.signature(self.function).parameters)})>"

    def _repr_html_(self) -> str:
        try:
            source = f"<pre>{escape(inspect.getsource(self.function))}</pre>"
        except OSError:
            source = ""
        shown: str = NOTEBOOK.load()(self.graph(memory="streams"))
        return f"<div><strong>{escape(repr(self))}</strong>{source}{shown}</div>"

    @property
    def line(self) -> int:
        """Where the function begins in its file."""
        return self.function.__code__.co_firstlineno

    @property
    def last_line(self) -> int:
        """Where its last statement begins."""
        return max(line for _, _, line in self.function.__code__.co_lines() if line is not None)

    @property
    def parameters(self) -> dict[str, Type | ArrayType]:
        """Each parameter's type; SourceError for one without.

        Annotations may be text, as with ``from __future__ import annotations``; they are evaluated in the function's
        module.
        """
        types: dict[str, Type | ArrayType] = {}
        try:
            signature = inspect.signature(self.function, eval_str=True)
        except (NameError, TypeError, SourceError) as error:
            raise SourceError(f"its parameters' types cannot be read: {error}", where=self._here()) from None
        for name, parameter in signature.parameters.items():
            if not isinstance(parameter.annotation, Type | ArrayType):
                raise SourceError(
                    f"parameter {name!r} has no kernel type; expected int8, int16, int32, uint8, uint16, float32 "
                    "or Array[type, length]",
                    where=self._here(),
                )
            types[name] = parameter.annotation
        return types

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the function on numbers and arrays (changed in place); returns Python numbers."""
        bound = inspect.signature(self.function).bind(*arguments, **named)
        given: dict[str, Any] = {}
        for name, kind in self.parameters.items():
            value = bound.arguments[name]
            given[name] = KnownArray(name, kind, value) if isinstance(kind, ArrayType) else kind(value)
        return _plain(self.function(**given))

    def graph(
        self,
        *,
        memory: Memory = "arrays",
        sizes: Mapping[str, int] | None = None,
        unroll: int = 1,
        reduced: bool = True,
    ) -> Dfg:
        """The graph of the loop. ``memory="streams"`` makes accesses that move by a fixed step inputs and outputs.

        ``sizes`` overrides the lengths of arrays. A ``reduced`` graph does less in each iteration: loads are shared,
        indices are counters, and what no iteration changes is a live-in, whose value :meth:`start` gives. SourceError
        names the line that cannot be traced. Runs the body once.
        """
        return self.graph_and_lines(memory=memory, sizes=sizes, unroll=unroll, reduced=reduced)[0]

    def start(
        self,
        liveins: Mapping[str, int],
        arrays: Mapping[str, Sequence[int]],
        *,
        memory: Memory = "arrays",
        sizes: Mapping[str, int] | None = None,
    ) -> dict[str, int]:
        """All live-ins of the reduced graph, from the parameters and the words of the arrays before the loop.

        Values are signed words (a float is the pattern of a single). Runs the body once.
        """
        trace = self._traced(memory, sizes or {})
        reduce(trace.body)
        return {**liveins, **prologue_values(trace.body.prologue, liveins, elements_of(arrays))}

    def places(self, *, sizes: Mapping[str, int] | None = None) -> dict[str, tuple[str, TracedLinear]]:
        """Stream of the graph, or live-in for an element that never moves -> its array and index. Traces the body."""
        return self._traced("streams", sizes or {}).places

    def graph_and_lines(
        self,
        *,
        memory: Memory = "arrays",
        sizes: Mapping[str, int] | None = None,
        unroll: int = 1,
        reduced: bool = True,
    ) -> tuple[Dfg, dict[str, int]]:
        """The graph, and the line of the file that each node comes from (before unrolling). Runs the body once."""
        trace = self._traced(memory, sizes or {})
        if reduced:
            reduce(trace.body)
        with locate_errors(self._here()):
            graph = trace.body.build(f"Python kernel {self.name}")
        if unroll > 1:
            from gridloom.compiler.loops.unroll import unroll_graph

            graph = unroll_graph(graph, unroll)
        return graph, trace.body.lines()

    def _traced(self, memory: Memory, sizes: Mapping[str, int]) -> KernelTrace:
        """Call the function with symbols and return what was written down. Errors name the line of the kernel."""
        trace = KernelTrace(Body(self.name), streams=memory == "streams", code=self.function.__code__)
        given = self._symbols(trace, sizes)
        token = ACTIVE.set(trace)
        try:
            result = self.function(**given)
            if trace.phase == "before":
                raise SourceError("has no gridloom.loop", where=self._here())
            if trace.phase == "inside":
                raise SourceError("leaves its loop by break or return; run all iterations", where=self._here())
            trace.finish()
            self._liveouts(trace, result)
        # Errors of ours get the place; any other exception is one of the kernel's own code.
        except GridloomError as error:
            raise error if error.where else type(error)(error.message, where=self._line(error)) from None
        except (Exception, SystemExit) as error:
            raise SourceError(f"cannot be traced: {type(error).__name__}: {error}", where=self._line(error)) from error
        finally:
            ACTIVE.reset(token)
        return trace

    def _symbols(self, trace: KernelTrace, sizes: Mapping[str, int]) -> dict[str, Any]:
        """A symbol for each parameter: an array, or a live-in."""
        given: dict[str, Any] = {}
        for name, kind in self.parameters.items():
            if isinstance(kind, ArrayType):
                kind = ArrayType(kind.element, sizes.get(name, kind.length))
                given[name] = TracedArray(name, kind, trace)
                if not trace.streams:
                    trace.body.arrays[name] = kind.length
            else:
                operand = LiveIn(name)
                trace.body.reserved.add(name)
                trace.body.ranges[operand] = kind.range
                given[name] = Value(None, kind.is_float, operand)
        # With streams no array is declared, so that names cannot be checked.
        unknown = set(sizes) - set(trace.body.arrays)
        if unknown and not trace.streams:
            raise OptionError(f"size of {min(unknown)!r}: the kernel has no array of that name", where=self._here())
        return given

    def _liveouts(self, trace: KernelTrace, result: Any) -> None:
        """Make what the function returns the live-outs of the body."""
        if result is None:
            return
        if isinstance(result, Mapping):
            rows = list(result.items())
        elif isinstance(result, tuple | list):
            rows = [(f"result_{k}", value) for k, value in enumerate(result)]
        else:
            rows = [("result", result)]
        for name, value in rows:
            trace.body.liveouts[readable(str(name))] = lift(value).operand

    # -- where ------------------------------------------------------------------------------------------------------

    def _here(self) -> str:
        """File and first line of the kernel, for messages."""
        return f"{self.file}:{self.line}: kernel {self.name!r}"

    def _line(self, error: BaseException) -> str:
        """The line of the kernel's file that an error came from."""
        lines = lines_in(error, self.function.__code__.co_filename)
        return f"{self.file}:{lines[-1] if lines else self.line}: kernel {self.name!r}"


def _plain(result: Any) -> Any:
    """Results as Python numbers, in the containers that the function returned."""
    if isinstance(result, StateType):
        return _plain(result.current)
    if isinstance(result, Value):
        return float(result) if result.is_float else int(result)
    if isinstance(result, Mapping):
        return {key: _plain(value) for key, value in result.items()}
    return type(result)(_plain(value) for value in result) if isinstance(result, tuple | list) else result


@overload
def kernel(name: str, /, **parameters: int | str) -> Dfg: ...
@overload
def kernel(name: Callable[..., Any], /) -> PythonKernel: ...
def kernel(name: str | Callable[..., Any], /, **parameters: int | str) -> Dfg | PythonKernel:
    """With a name, the graph of a built-in kernel; as a decorator, a Python function that can be mapped.

    ``kernel("fir", taps=4)`` is a Dfg; OptionError says which parameters a kernel takes. ``@kernel`` gives the function
    a method ``graph()`` and keeps it callable.
    """
    if isinstance(name, str):
        from gridloom import registry

        graph: Dfg = registry.load("kernels", name).build(**parameters)
        return graph
    if not inspect.isfunction(name):
        raise SourceError(f"@gridloom.kernel decorates functions; found {type(name).__name__}")
    return PythonKernel(name)


# -- files ----------------------------------------------------------------------------------------------------------


def read(path: Path) -> Dfg:
    """The graph of the only kernel, or of the only object with ``build``, of a Python file. Executes the file."""
    source = find_source(LoopSpec(path=path))
    return source if isinstance(source, Dfg) else source.graph()


def read_spec(source: str | SourceName, memory: Memory | None = None) -> Dfg:
    """The graph of ``FILE.py:NAME,key=value,...``; keys are ``memory``, ``unroll`` and ``size.ARRAY``.

    ``memory`` is for a text that does not say it.
    """
    spec = parse(source)
    kernel = find_source(spec)
    if isinstance(kernel, Dfg):
        return kernel
    return kernel.graph(memory=spec.memory or memory or "arrays", sizes=spec.sizes, unroll=spec.unroll)


def sources_of(path: Path) -> dict[str, PythonKernel | Dfg | GridloomError]:
    """The kernels of a Python file, then the graphs that its objects with ``build`` build. Executes the file.

    An object that builds none has the reason in the place of a graph.
    """
    module = execute(path)
    found: dict[str, PythonKernel | Dfg | GridloomError] = {**_kernels(module, path)}
    for name, item in builders_of(module).items():
        try:
            graph = build_graph(item, LoopSpec(path=path, function=name))
        except GridloomError as error:
            found[name] = error
            continue
        if graph is not None:
            found[name] = graph
    return found


def _kernels(module: ModuleType, path: Path) -> dict[str, PythonKernel]:
    """The kernels of a module that was read from a file."""
    kernels = {key: value for key, value in vars(module).items() if isinstance(value, PythonKernel)}
    for kernel in kernels.values():
        # Python makes paths absolute; messages name the file as the user did.
        if Path(kernel.file) == path.absolute():
            kernel.file = str(path)
    return kernels


def find_source(spec: LoopSpec) -> PythonKernel | Dfg:
    """The kernel that a text names, or the graph that the object of that name builds. Executes the file.

    Without a name it is the only one of its file. SourceError where the file has none of that name, or several and none
    is named; it lists those that there are.
    """
    path, name = spec.path, spec.function
    module = execute(path)
    kernels, builders = _kernels(module, path), builders_of(module)
    if name is None and len(kernels) == 1:
        return next(iter(kernels.values()))
    if name in kernels:
        return kernels[str(name)]
    if name is None and not kernels and len(builders) == 1:
        spec = replace(spec, function=next(iter(builders)))
    if spec.function is not None and spec.function in vars(module):
        graph = build_graph(vars(module)[spec.function], spec)
        if graph is not None:
            return graph
    listed = ", ".join(kernels) or "none"
    asked = f"has no kernel {name!r}" if name else f"has {len(kernels)} kernels"
    others = f"; objects with build(): {', '.join(builders)}" if builders else ""
    raise SourceError(f"{asked}; functions decorated with @gridloom.kernel: {listed}{others}", where=str(path))
