"""Graphs made from graphs: what an array's style asks for before mapping.

``fuse`` joins ops for units that multiply and add in one instruction, ``streams`` turns ports into memory accesses, and
``lower_tensor`` turns a tensor program into the units of a dataflow array. Each takes a Dfg and returns another that
computes the same; ``flow/inputs.py`` decides by the traits of the array which ones are applied.
"""
