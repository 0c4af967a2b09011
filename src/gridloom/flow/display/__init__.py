"""How results are shown: pictures, tables for notebooks, and the report."""
