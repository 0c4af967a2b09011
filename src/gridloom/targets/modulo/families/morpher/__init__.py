"""Morpher's array descriptions (JSON): ``modules`` reads, ``netlist`` flattens, ``array`` builds the Arch."""
