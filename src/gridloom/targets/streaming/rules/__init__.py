"""Legality of programs: flows share no tile and no link."""
