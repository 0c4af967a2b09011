"""RAMP and the two techniques that it was measured against: modulo schedules, maximum cliques, routing strategies.

``ramp``, ``regimap`` and ``memmap`` are the mappers; ``run`` is what they share. A ``search`` schedules a working copy
of the graph (``graph``, ``schedule``), places it by a clique (``place``, ``cliques``), gives values their
registers (``registers``), and edits the graph where an op has no place (``strategies``). ``mapping`` translates the
result.
"""
