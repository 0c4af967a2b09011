"""How the kernels of the mappers are compiled: four decorators, and the copies that kernels make.

Compiling is what a first command waits for, so kernels keep to four rules. Each of them was measured:

* A function that only kernels call is :data:`internal`: it needs no entry from Python, and the entry of a function
  with many arrays takes as long to compile as the function.
* Arrays are copied with :func:`copy_row` and :func:`copy_table`, never with ``a[:] = b``, which compiles the text of
  an error message for shapes that differ (1.5 s for each number of dimensions).
* A number that is written down in a call is wrapped, ``int64(1)``: numba compiles a function once more for each
  number that it sees as a literal.
* An array of one number is made by ``np.zeros``, not from a list.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

#: A number of 64 bits, which the type checker takes for an ``int``, and numba not for a literal.
int64: Any = np.int64

#: For a function that Python calls. It runs without the interpreter's lock, and its code is kept on the disk.
kernel = njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)

#: For a function that only kernels call.
internal = njit(cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)

#: For a function that only kernels call and that makes no arrays. It counts no references to those that it is given,
#: which are kept by the kernel that Python called: the counting is most of the code of a function with many arrays, and
#: of its time where it is called often. It has no file on the disk, since the kernel that calls it is kept whole.
borrowing = njit(nogil=True, error_model="numpy", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)

#: For a few lines inside a hot loop: they become part of the kernel that calls them before it is typed.
inlined = njit(cache=True, nogil=True, error_model="numpy", inline="always")


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
