"""Front ends: what turns a source into a Dfg; :func:`gridloom.compiler.source.load_source` finds the right one."""

from __future__ import annotations
