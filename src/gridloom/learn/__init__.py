"""Learned models: PyTorch lives here and in the tensor front end, reached by name through the registry only."""
