"""Pictures, terminal drawings and reports of graphs, arrays and mappings."""
