"""One thread for each worker: the limits that BLAS, OpenMP and numba read from their process's environment.

The environment is the only way to tell these libraries before they are loaded. Nothing here reads a setting of the
user's: the variables are set in processes of ours, and put back in the process that starts them.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
THREAD_LIMITS = dict.fromkeys(_THREAD_VARIABLES, "1")
"""One job a core: libraries that start a thread a core inside each job would only fight each other."""

_environment = threading.Lock()


def limit_threads() -> None:
    """Make BLAS and OpenMP, unless they are loaded already, and numba in any case use one thread in this process."""
    os.environ.update(THREAD_LIMITS)
    numba = sys.modules.get("numba")
    if numba is not None:
        numba.set_num_threads(1)
    else:
        # Only before numba is loaded: it refuses to compile once this changes under its running threads.
        os.environ["NUMBA_NUM_THREADS"] = "1"


@contextlib.contextmanager
def limited_environment() -> Iterator[None]:
    """Set the limits for processes that start in this block, and put this process's environment back after it.

    Needed because a spawned interpreter may load NumPy before any code of this package runs in it.
    """
    # A spawned interpreter imports the user's main module, and with it perhaps NumPy, before any code of ours runs
    # there: the limits have to be in the environment that it starts with.
    with _environment:
        before = {name: os.environ.get(name) for name in THREAD_LIMITS}
        os.environ.update(THREAD_LIMITS)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
