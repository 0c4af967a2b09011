"""Drawings for a terminal."""
