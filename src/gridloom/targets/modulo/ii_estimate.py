"""Which II a loop is likely to reach on a modulo-scheduled array, without mapping it: what counting says.

The MII is a lower bound; what routing, registers and ports cost beyond it, only mapping shows. A learned estimator
gives the same record (see ``learned``) and never says less than the MII. Two closed forms are here as rivals
that need no training beyond one or two constants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from gridloom.archs.model import Arch
from gridloom.dfg.model import Dfg
from gridloom.errors import OptionError
from gridloom.mapping.mii import Mii, mii


@dataclass(frozen=True, slots=True, kw_only=True)
class IiEstimate:
    """The II that a loop is expected to reach; ``ii`` None: no II will do."""

    ii: int | None
    #: The lower bound.
    mii: Mii
    #: What the II comes from, or why there is none.
    reason: str
    #: The probability that the least II a search reaches is this one; None: the estimator has none.
    confidence: float | None = None
    #: From the MII on, the probability that each II is reachable; it grows with the II. Empty: not known.
    reachable: tuple[float, ...] = ()

    def chance(self, ii: int) -> float | None:
        """Return the probability that an II is reachable; None: not known.

        >>> bound = Mii(res=2, rec=1, explanations=())
        >>> found = IiEstimate(ii=3, mii=bound, reason="learned", confidence=0.5, reachable=(0.3, 0.8))
        >>> found.chance(1), found.chance(2), found.chance(9)
        (0.0, 0.3, 0.8)
        """
        if self.ii is None or ii < self.mii.total:
            return 0.0
        if not self.reachable:
            return None
        return self.reachable[min(ii - self.mii.total, len(self.reachable) - 1)]


class IiEstimator(Protocol):
    """Something that estimates IIs."""

    name: str

    def estimate(self, dfg: Dfg, arch: Arch) -> IiEstimate:
        """The II that the loop is likely to reach on the array."""
        ...


def check_modulo(arch: Arch) -> None:
    """OptionError unless an II means something on the array and ``modulo`` maps onto it."""
    if arch.style != "modulo" or not (arch.has("registers") or arch.has("crossbars")):
        raise OptionError(
            f"array {arch.name!r} is {arch.style} and no array that loops share in time by registers or crossbars; "
            "expected one such as torus, hycube or a description with `style: modulo`"
        )


def bound_ii(dfg: Dfg, arch: Arch) -> IiEstimate:
    """What counting says: the MII, or that an op class has no tile."""
    bound = mii(dfg, arch)
    if bound.missing:
        return IiEstimate(ii=None, mii=bound, reason=f"no tile for {' and '.join(bound.missing)}")
    room = min((tile.contexts for tile in arch.tiles if tile.contexts is not None), default=None)
    if room is not None and bound.total > room:
        return IiEstimate(ii=None, mii=bound, reason=f"needs at least II {bound.total}, contexts for {room}")
    return IiEstimate(ii=bound.total, mii=bound, reason="; ".join(bound.explanations) or "nothing asks for more")


class BoundIi:
    """``bound``: the MII."""

    name = "bound"

    def estimate(self, dfg: Dfg, arch: Arch) -> IiEstimate:
        """The MII as the II; none where counting refuses."""
        return bound_ii(dfg, arch)
