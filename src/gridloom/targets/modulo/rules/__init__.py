"""Judges of modulo-scheduled arrays: rules of single machines."""
