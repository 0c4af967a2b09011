"""Exact balancing of path latencies."""
