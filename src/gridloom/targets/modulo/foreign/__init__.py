"""Mappings that other tools made: each reader turns a file into a Mapping that our judges take, or names the reason."""
