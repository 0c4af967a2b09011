"""The partitioning flow: graphs too large for a static array become parts that run one after the other.

``flow`` has the steps from top to bottom; ``search`` decides which parts, ``mapping`` maps them, ``unroll_columns``
puts copies side by side and ``run`` confirms the whole.
"""
