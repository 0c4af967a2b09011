"""Whole C functions: the parameters, a memory, and code of ours that runs a function with its loops marked.

``signature`` reads the types of the parameters, ``memory`` holds the objects that pointers lead to, ``host_code``
turns IR into Python that runs on that memory and says when a loop begins and ends, and ``exits`` rewrites loops that
end when a value says so. :mod:`gridloom.flow.functions` puts mapped loops into their places.
"""
