"""Tensor programs on elastic arrays: whole programs, section by section.

``run``         lowers a program (``gridloom.targets.dataflow.lowering.lower``) and maps section by section
``cold_start``  simulates one sample alone on a mapped section
"""
