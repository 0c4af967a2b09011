"""Programs for OpenEdgeCGRA: graphs that it can run, instructions, an interpreter of them, and files."""
