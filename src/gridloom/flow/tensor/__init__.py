"""Tensor programs on elastic arrays: sections, the simulator as a cost model, where the cycles go."""
