"""Routing on static grids."""
