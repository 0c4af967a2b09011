"""The array families of rows of ALUs: ``vpcma``, ``genmap`` for XML descriptions, ``row_parts`` for what both share."""
