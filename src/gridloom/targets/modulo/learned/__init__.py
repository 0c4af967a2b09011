"""Which II a loop reaches on a modulo-scheduled array, estimated in a millisecond.

``random_loops`` and ``arrays`` draw what is labelled, ``data`` labels it with ``modulo``, ``labels`` keeps it in a
file, ``features`` says what the estimator sees, ``training`` fits it and its rivals, ``inference`` runs it on numpy.
"""
