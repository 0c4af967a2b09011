"""The command ``gridloom vpr``."""
