"""Balancing on static grids: issue cycles and FIFO depths of routes that are fixed.

``exact`` states the rules and the questions, ``cut_kernel`` has the compiled algorithms for them.
"""
