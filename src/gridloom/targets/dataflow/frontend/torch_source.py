"""Python files that import torch, as a source: one network that a function builds, or the list of all of them."""

from __future__ import annotations

from gridloom.targets.dataflow.frontend.listing import list_networks
from gridloom.targets.dataflow.frontend.torch_module import read_spec

__all__ = ["list_networks", "read_spec"]
