"""Everything that gridloom claims in numbers, and one command that measures it again: ``python -m benchmarks``.

A claim (:mod:`benchmarks.claim`) asks a function for the rows of a table. ``run`` stores the rows below ``results/``
with command, version, date, machine and CPU time, ``compare`` measures again and prints what left its tolerance, and
``pages`` writes ``docs/results``. Claims are in one module for each subject, listed in :mod:`benchmarks.catalogue`.
"""
