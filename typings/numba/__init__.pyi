"""What mypy has to know of numba, which ships no types: a compiled kernel has the signature of its source.

With numba's decorators untyped, every kernel and every call of one would be `Any` to the checker.
"""

from collections.abc import Callable
from typing import Any, TypeVar, overload

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])

@overload
def njit(function: _Kernel, /) -> _Kernel: ...
@overload
def njit(
    *,
    cache: bool = ...,
    nogil: bool = ...,
    inline: str = ...,
    fastmath: bool = ...,
    boundscheck: bool = ...,
    error_model: str = ...,
    parallel: bool = ...,
    no_cpython_wrapper: bool = ...,
    no_cfunc_wrapper: bool = ...,
    _nrt: bool = ...,
    pipeline_class: type = ...,
) -> Callable[[_Kernel], _Kernel]: ...
@overload
def njit(signature: Any, /, **options: Any) -> Callable[[_Kernel], _Kernel]: ...

_dynfunc: Any
prange = range

def __getattr__(name: str) -> Any: ...
