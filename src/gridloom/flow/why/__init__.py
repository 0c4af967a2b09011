"""Why a result is what it is: the reasons that bound it, and what would help, tried before it is offered."""
