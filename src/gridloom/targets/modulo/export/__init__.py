"""Programs for machines of other groups."""
