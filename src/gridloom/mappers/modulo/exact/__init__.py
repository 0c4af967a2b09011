"""The exact model of modulo-scheduled arrays."""
