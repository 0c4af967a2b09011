"""Cliques in RAMP's compatibility graph: a placement of all ops is a clique of as many vertices as there are ops.

``compatibility_kernel`` builds the graph as rows of bits, and counts what register files hold beside it.
``local_kernel`` and ``dharwadker_kernel`` search for a maximum clique, each in its own way, from the same arrays.
"""
