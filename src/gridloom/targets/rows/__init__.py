"""Rows of combinational ALUs over load and store ports: the Cool Mega Array, and arrays that GenMap describes.

Only the row boundaries that a mapping switches on take a cycle, so that a graph has a width in columns and no schedule.

Reading order:

1. ``target``: what the rest of the package knows of this target.
2. ``families/vpcma``: ALUs, switching elements, ports and constant registers.
3. ``words24``: loops of 32-bit integers become graphs of 24-bit words before they are mapped.
4. ``mappers/width`` and ``bounds``: the fewest columns that a search finds, and the rows that a graph needs.
5. ``estimate`` and ``learned``: whether a graph fits, and on how many columns, without mapping it.
"""
