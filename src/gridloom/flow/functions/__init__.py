"""Whole functions on an array: every loop is mapped, the rest runs on a host, and a run counts cycles and values.

``compile`` maps the loops of a function, ``run`` runs it on data, ``launches`` puts simulated loops into their places,
``cycles`` says what everything costs, and ``native`` compares with the same function compiled for this machine.
"""
