"""The exact model of modulo-scheduled arrays: clauses of a loop within a window (``model``), and what they prove."""
