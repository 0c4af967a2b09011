"""Writing a file so that it appears whole or not at all.

Results of commands are written this way: a run that is killed, or a full disk, leaves the old file as it was.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from gridloom.errors import OptionError


def write_atomically(path: str | Path, text: str) -> None:
    """Write ``text`` (UTF-8) to a temporary file beside ``path`` and rename it.

    A reader of ``path`` sees the old file or the new one, and an error leaves nothing behind. The text is on the disk
    before the rename (``fsync``), so that the new name never stands for an empty file. A file that is replaced keeps
    its mode. OptionError when the folder is missing or may not be written to, or when ``path`` is a folder.
    """
    goal = Path(path)
    temporary: str | None = None
    try:
        if goal.is_dir():
            raise IsADirectoryError(f"{goal} is a folder")
        handle, temporary = tempfile.mkstemp(prefix=f".{goal.name}.", suffix=".part", dir=goal.parent)
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(goal))
        os.replace(temporary, goal)
        temporary = None
    except OSError as error:
        reason = error.strerror or str(error)
        raise OptionError(
            f"cannot be written: {reason}; name a file in a folder you may write to", where=str(goal)
        ) from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _mode(goal: Path) -> int:
    """The mode of the file that is replaced; for a new file what ``open`` would give, since mkstemp's is private."""
    with contextlib.suppress(OSError):
        return goal.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
