"""How results are shown: pictures, tables for notebooks, and the report.

These modules join what ``emit`` draws with what a flow knows of a result; ``emit`` itself sees only the nouns.
"""
