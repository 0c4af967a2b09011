"""Legality of elastic mappings: ``verify`` applies these rules in place of those of time."""
