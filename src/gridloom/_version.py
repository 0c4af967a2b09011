"""The package's version: the one place it is written; the build and `gridloom --version` read it from here."""

__version__ = "0.3.0"
