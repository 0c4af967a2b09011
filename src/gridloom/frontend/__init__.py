"""Front ends: what turns a source into a Dfg. Readers are found through :func:`gridloom.frontend.source.load_source`."""

from __future__ import annotations
