"""The array families, one file each. Each has a parameter record and ``build(spec) -> Arch``."""
