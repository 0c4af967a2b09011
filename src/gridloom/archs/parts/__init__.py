"""Parts that families of several targets are built from.

``grid``        PEs with output registers and their links
``files``       register files and their ports
``crossbars``   crossbars that pass a value over several links in one cycle

A family lives in its target (``targets/*/families``): one file with a parameter record and ``build(spec) -> Arch``. The
fields of the record, with the comments above them, are the parameter tables of the documents.
"""
