"""Analyses of the front end's IR, each of which answers one question for all passes."""
