"""Benchmarks: suites of sources and arrays, their runs, golden results, and the area of the hardware.

``suite`` is what to run, ``run`` runs it, ``golden`` compares the rows with earlier ones, ``loop_speed``,
``processor`` and ``peers`` add what the rows mean beside a processor and other tools. ``area`` is a benchmark of its
own, without mappings.
"""
