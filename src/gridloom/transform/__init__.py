"""Passes over graphs that belong to no target: each takes a Dfg and returns another that computes the same.

``streams``   ports become memory accesses, for arrays that have memory units and no ports
``lanes``     one loop over the SIMD lanes of an array
``assumed``   value ranges that the user states, and counters of a loop

``flow/inputs.py`` decides by the traits of the array which passes run. A target declares its own passes as hooks.
"""
