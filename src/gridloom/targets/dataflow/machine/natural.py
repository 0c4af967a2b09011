"""Indices of which compiled loops know that they are not negative.

In compiled code an index below 0 counts from the end, which costs some instructions wherever a table is read: a third
of the time of a loop that does little else. The compiler leaves them out where it knows that they are not needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba.extending import intrinsic

if TYPE_CHECKING:

    def natural(number: int) -> int:
        """Return the number, which must not be negative: this is not checked. For compiled code only."""

else:

    @intrinsic
    def natural(_typing: Any, number: Any) -> Any:
        """Return the number, which must not be negative: this is not checked. For compiled code only."""

        def code(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            (value,) = arguments
            builder.assume(builder.icmp_signed(">=", value, value.type(0)))
            return value

        return number(number), code
