"""Drawings for a terminal.

``drawing``  arrays, mappings and graphs as rich renderables
``canvas``   the grid of characters that arrays are drawn on
"""
