"""Pictures of graphs, arrays and mappings as SVG."""
