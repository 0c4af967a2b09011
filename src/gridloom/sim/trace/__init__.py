"""What stands on an array in every cycle of a run, recorded for those who look at it.

``clocked``  static and modulo arrays: the value of every wire and register, results, memory

The same kernels run as for a verdict, a cycle at a time, so that what is shown is what was simulated. Elastic arrays
have traces of their target (hook ``traces``).
"""
