"""Mappers turn a graph and an array into a mapping: one room for each style of array, one file for each mapper."""
