"""The array families of modulo-scheduled arrays.

``torus``        PEs with register files, and the presets of the RAMP evaluation
``hycube``       PEs whose crossbars pass a value over several links in one cycle
``time_shared``  parameters, tiles and data memory that both share
``classics/``    published arrays as descriptions by tile
``morpher/``     Morpher's JSON descriptions as arrays
"""
