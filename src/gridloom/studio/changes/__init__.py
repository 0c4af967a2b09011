"""Changes of a mapping by hand: ``edits`` makes them, ``routing`` finds a way for one edge."""
