"""Tensor programs lowered to the units of an array.

``stages``  groups of operations that run as one pipeline stage, and their cost
``units``   stages as compute and memory units, with the tokens of each stream
``lower``   the pass: stages, units, and sections where a program is larger than the array
"""
