"""The command ``gridloom program``."""
