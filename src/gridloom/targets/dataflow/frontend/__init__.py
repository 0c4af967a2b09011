"""Tensor graphs: built-in networks, PyTorch modules through ``torch.export``, and ONNX files.

All three give a Dfg of domain ``tensor`` whose nodes have shapes: one node an operation of the network, weights as
live-ins. `gridloom.targets.dataflow.lowering.lower` turns it into units of an array.
"""
