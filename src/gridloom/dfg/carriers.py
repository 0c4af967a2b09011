"""The type in which values of a graph travel, whatever its domain; apart from the interpreter, which needs numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Values as :mod:`gridloom.dfg.semantics` defines them: one 64-bit carrier for each.
Words = NDArray[np.int64]
