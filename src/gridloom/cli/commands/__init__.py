"""One module per command (or per pair of commands that share their options).

A command is a function with keyword-only parameters whose types, mostly from :mod:`gridloom.cli.options`, declare its
options; its docstring is its help text, so that it says what a user needs and nothing of the code. It returns the
exit status: 0 for done, 1 for an answer that is no, 130 after Ctrl-C. Mistakes of the user are raised as errors of
ours, which :mod:`gridloom.cli.entry` prints in one line.

What a command works with is imported inside it: help, completion and ``list`` have to answer at once, and numba alone
takes most of a second. ``--json`` prints one object and nothing else on standard output. ``--quiet`` is a parameter
that no command reads: its callback does the work.
"""
