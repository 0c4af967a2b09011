"""Balancing on static grids: issue cycles and FIFO depths of routes that are fixed."""
