"""64-bit integers as pairs of words."""
