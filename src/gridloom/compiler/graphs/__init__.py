"""Readers and writers of graph files: our own JSON, Graphviz DOT and the formats of published tools."""
