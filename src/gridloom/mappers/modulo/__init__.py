"""Modulo-scheduled arrays (torus and its presets): tiles have an op for each slot; slots repeat every II cycles."""
