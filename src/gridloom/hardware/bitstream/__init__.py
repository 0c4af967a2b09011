"""Configuration bits: from a configuration to named fields, packets and files, and back."""
