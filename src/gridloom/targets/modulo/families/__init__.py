"""The array families of modulo-scheduled arrays.

``torus``        PEs with register files, the presets of the RAMP evaluation, and what ``hycube`` shares with them
``hycube``       PEs whose crossbars pass a value over several links in one cycle
``classics/``    published arrays as descriptions by tile
``morpher/``     Morpher's JSON descriptions as arrays
"""
