"""The array family ``rdu``."""
