"""The studio: a page on this machine to write, map, watch, step through, understand and change mappings.

``session``    what the page can do; ``requests``: what it may ask; ``workspace``: the folder that it reads and writes
``web/``       routes, guard and port
``searches/``  searches on worker processes, and the forms of their settings
``views/``     what the page shows: scenes, runs, explanations, comparisons, stores
``changes/``   changes by hand
``page``, ``share``, ``assets/``   the page: ES modules without a build step that draw with the report's own code,
               served one by one or joined into a file that opens offline

It is a thin layer over ``flow``: sources are prepared, mapped and confirmed there and nowhere else.
"""
