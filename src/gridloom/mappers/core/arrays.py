"""The array types that mappers and their kernels share: each name says how wide the numbers are.

Indices of nodes, tiles, edges and links are ``Int32s``: tables of large arrays have to stay in the cache. Cycles in
sums, values of tokens and words of memory are ``Int64s``. numba compiles a kernel once for each combination of types
that it is called with, so a table keeps one type everywhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Uint8s = NDArray[np.uint8]
Uint64s = NDArray[np.uint64]
Int16s = NDArray[np.int16]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Float64s = NDArray[np.float64]
