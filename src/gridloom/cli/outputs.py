"""Files that a command writes: refused before the work starts if they cannot be written, and written whole.

A search may take an hour, so a folder that does not exist has to be found out before it. Files are written beside
their place and renamed, so that a crash leaves the old file or the new one, never a half.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from gridloom.cli.progress import note
from gridloom.errors import OptionError
from gridloom.text_file import exists, is_dir


def check_writable(files: Iterable[tuple[str, Path | None]]) -> None:
    """Raise an OptionError for the first output that cannot be written, before anybody waits an hour for it.

    ``files`` are pairs of the option and its file, None where it was not given. One file named by two options is
    refused, too. Nothing is created.
    """
    seen: dict[Path, str] = {}
    for option, path in files:
        if path is None:
            continue
        folder = path.absolute().parent
        if is_dir(path):
            raise OptionError(f"{path} is a folder; expected a file name", where=option)
        if not is_dir(folder):
            raise OptionError(f"{path}: there is no folder {folder}; create it first", where=option)
        _check_name(path, folder, option)
        if not os.access(path if exists(path) else folder, os.W_OK):
            raise OptionError(f"{path} cannot be written; name another file", where=option)
        other = seen.setdefault(path.absolute(), option)
        if other != option:
            raise OptionError(f"{path} is also the file of {other}; name another", where=option)


def check_folder(path: Path, option: str) -> None:
    """Raise an OptionError for a folder to write into that is a file, or whose name is too long. Nothing is created."""
    if exists(path) and not is_dir(path):
        raise OptionError(f"{path} is a file; expected a folder", where=option)
    above = next((folder for folder in path.absolute().parents if is_dir(folder)), Path("/"))
    _check_name(path, above, option)


def _check_name(path: Path, folder: Path, option: str) -> None:
    """Raise an OptionError where the name is longer than the file system of a folder takes."""
    if len(os.fsencode(path.name)) > os.pathconf(folder, "PC_NAME_MAX"):
        raise OptionError(f"{path.name[:40]}… is longer than a file name may be; name another", where=option)


def figure_files(plots: Iterable[str], known: Collection[str], of: str) -> list[tuple[str, Path]]:
    """The (figure, file) pairs of ``--plot``; an OptionError, before the long work, for an unknown figure.

    ``FILE.svg`` alone means all figures in one picture, which is returned as figure ``all``. ``of`` names what the
    figures are of, for the message.
    """
    wanted = []
    for text in plots:
        figure, between, name = text.partition("=")
        path = Path(name if between else text)
        if path.suffix != ".svg":
            raise OptionError(f"expected FILE.svg or FIGURE=FILE.svg, found {text!r}", where="--plot")
        check_writable([("--plot", path)])
        chosen = figure if between else "all"
        if chosen not in ("all", *known):
            raise OptionError(f"no figure {chosen!r} for {of}; known: {', '.join(known)}", where="--plot")
        wanted.append((chosen, path))
    return wanted


def write_all(texts: Mapping[Path, str]) -> None:
    """Write every file, each whole or not at all."""
    from gridloom.emit.files import write_atomically

    for path, text in texts.items():
        write_atomically(path, text)


def write_and_tell(texts: Mapping[Path, str]) -> None:
    """Write every file and say so on standard error."""
    write_all(texts)
    for path in texts:
        note(f"wrote {path}")
