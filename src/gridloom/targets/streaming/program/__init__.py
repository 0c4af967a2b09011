"""Programs of several flows on one streaming engine: ``model`` is the record, ``run`` reads, maps and confirms one."""
