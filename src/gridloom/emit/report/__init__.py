"""The HTML report of a mapping, and of a search that found none.

``page``            the report; ``failure_page``: the one of a failure, with ``congestion`` as its picture
``data``            what the report's script knows; ``template``: assets, slots, tables, style
``source_listing``  the card with the source of a loop; ``large_page``: the report of a large mapping
``assets/``         page, style and scripts as files; ``assets/drawing``: what the studio's page uses, too
``bundle``          the modules of a script joined into one

A page is one file without anything to fetch: it can be sent by mail and opened years later. Its policy
(``template.policy``) allows one script by its hash, so a name in a graph can never run as code.
"""
