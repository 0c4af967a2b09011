"""The array families of rows of ALUs: ``vpcma`` with the parts that both share, ``genmap`` for XML descriptions."""
