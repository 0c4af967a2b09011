"""Charts of measured numbers.

``chart``  lines and stacked bars as SVG text, without a plotting library
``suite``  the figures of a benchmark suite, from the rows of its report
"""
