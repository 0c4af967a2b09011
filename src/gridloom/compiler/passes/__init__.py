"""Passes from IR to IR: each rewrites the records of a function, which are then written and optimised again."""
