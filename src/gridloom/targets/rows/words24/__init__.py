"""Loops of 32-bit integers become graphs of 24-bit words with a carry, the domain of the Cool Mega Arrays.

``narrowing``   :func:`narrow`, the way in, and the record with which both graphs are compared
``carried``     values of earlier iterations become streams of their own, where they are inputs or counters
``ranges``      the least and the greatest value of every node, from types, masks, shifts and what the user assumes
``demand``      how many low bits of every value matter to what reads it
``rewrite``     large biases before shifts, which need not be in the word
``lower``       the ops of the array for each op of the loop; ``conditions``: comparisons, selects, minima
``words``       the graph under construction: constants that registers hold, products as shifts and sums

A word holds the low 24 bits of its value. That suffices wherever only low bits are read on (sums, products, logic), and
wherever the value is known to fit; everything else is refused with the name of the value that does not fit.
"""
