"""The array families, one file each. Each has a parameter record and ``build(spec) -> Arch``.

The registry's group ``archs`` names the families and loads a file when one of its arrays is built. The fields of the
record, with the comments above them, are the parameter tables of the documents, and the defaults in it are the only
ones. ``grid_parts`` and ``row_parts`` hold what several families are made of. A new family needs a file here, an entry
in the registry, and the traits that say which mappers and drawings suit it.
"""
