"""Which device runs many instances at once: the processor, or a GPU that CUDA can use."""

from __future__ import annotations

from typing import Final, Literal

from gridloom.errors import OptionError, install_hint

Device = Literal["cpu", "gpu", "auto"]
DEVICES: Final[tuple[Device, ...]] = ("cpu", "gpu", "auto")


def on_gpu(device: Device) -> bool:
    """Return True when the instances run on a GPU; ``auto`` takes one if there is one.

    OptionError for ``gpu`` where numba-cuda is not installed or finds no device. The simulator of numba-cuda
    (``NUMBA_ENABLE_CUDASIM=1``) counts as a device.
    """
    if device == "cpu":
        return False
    try:
        from numba import cuda

        found = bool(cuda.is_available())
    except ImportError:
        found = False
        missing = f"numba-cuda is not installed; {install_hint('gpu')}"
    else:
        missing = "CUDA finds no GPU on this machine"
    if device == "gpu" and not found:
        raise OptionError(f"device: 'gpu' cannot be used: {missing}, or take device=cpu")
    return found
