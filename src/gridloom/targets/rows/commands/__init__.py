"""The command ``gridloom mappability-figure``."""
