"""Arrays that are described tile by tile: reading descriptions, building them, and writing any array as one.

``family.build`` makes an Arch from a description, and ``writing.describe`` makes a description from an Arch.
"""
