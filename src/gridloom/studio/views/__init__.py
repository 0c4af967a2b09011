"""What the page shows, as plain data.

``opened``   mappings with the verdict of the checks; ``scene``: what is drawn of one
``values``   runs and their words; ``exports``: a run for other tools
``explain``  why the II is not lower; ``compare``: two mappings; ``stores``: runs of ``bench`` and ``explore``
"""
