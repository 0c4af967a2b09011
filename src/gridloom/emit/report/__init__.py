"""The HTML report of a mapping."""
