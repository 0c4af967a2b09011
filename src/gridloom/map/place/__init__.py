"""Placement kernels."""
