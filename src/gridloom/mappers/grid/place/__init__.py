"""Placement on static grids: annealers, bisection, and layouts that are known beforehand."""
