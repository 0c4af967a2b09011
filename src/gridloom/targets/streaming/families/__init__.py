"""The array family ``streaming-engine``."""
