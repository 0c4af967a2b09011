"""Searches that the page starts: ``jobs`` on worker processes, ``worker`` within one, ``forms`` for their settings."""
