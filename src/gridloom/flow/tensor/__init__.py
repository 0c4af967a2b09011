"""Tensor programs on elastic arrays: sections, the simulator as a cost model, where the cycles go.

``sections`` is the flow: it lowers a program (``gridloom.transform.lower_tensor``) and maps section by section;
``cold_start`` simulates one sample alone on a mapped section.
"""
