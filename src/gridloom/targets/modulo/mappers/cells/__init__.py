"""Unit cells: repeated parts of a graph are mapped once and replicated over the array."""
