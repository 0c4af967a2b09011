"""``gridloom doctor`` says what this installation has: versions, extras, tools, caches, sandbox."""

from __future__ import annotations

import json
import os

from gridloom.cli.options import AsJson, Quiet


def doctor(*, as_json: AsJson = False, quiet: Quiet = False) -> int:
    """Show versions, extras and how to install them, tools, caches, and what confines native code on this machine."""
    from gridloom.flow.doctor import examine

    found = examine(os.environ.get("NUMBA_CACHE_DIR"))
    print(json.dumps(found.to_dict()) if as_json else found.text)
    return 0
