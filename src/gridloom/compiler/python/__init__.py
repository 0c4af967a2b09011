"""The Python front end: a function with one loop, run or traced into a graph."""
