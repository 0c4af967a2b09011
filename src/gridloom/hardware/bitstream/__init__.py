"""Configuration bits: from a configuration to named fields, packets and files, and back.

``encode``   fields that set the hardware to a configuration, and the sizes that a configuration needs
``packets``  fields as packets for the configuration chain, and packets as fields
``files``    packets in hex and binary files, and in words
"""
