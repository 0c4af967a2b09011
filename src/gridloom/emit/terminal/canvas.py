"""A grid of characters with styles, for drawings in a terminal.

Widths are counted in terminal cells, not in characters: East Asian letters take two. Control characters are replaced
before anything is drawn, because a name in a graph could otherwise move the cursor or change the window's title. rich
is imported inside the functions, so that commands without a drawing do not wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridloom.emit.picture.text import printable

if TYPE_CHECKING:
    from rich.text import Text


def clip_text(text: str, width: int) -> str:
    """Return the text in at most ``width`` terminal cells, without anything that would move the cursor.

    >>> clip_text("accumulate", 5)
    'accu…'
    """
    from rich.cells import cell_len

    clean = printable(text).replace("\n", " ").replace("\t", " ").replace("\r", " ")
    if cell_len(clean) <= width:
        return clean
    while clean and cell_len(clean) > width - 1:
        clean = clean[:-1]
    return clean + "…" if width > 0 else ""


def clipped_middle(text: str, width: int) -> str:
    """Return the text in at most ``width`` terminal cells, shortened in its middle, since ids differ at their ends.

    >>> clipped_middle("accumulate_17", 9)
    'accum…_17'
    """
    from rich.cells import cell_len

    whole = clip_text(text, 10_000)
    if cell_len(whole) <= width:
        return whole
    tail = whole[-3:] if cell_len(whole[-3:]) < width - 1 else ""
    return clip_text(whole, width - cell_len(tail)) + tail


class Canvas:
    """A grid of characters; what is drawn later covers what was drawn before.

    Rows and columns count from 0 at the upper left. The cell right of a wide character holds an empty text, so a row
    always joins to the right width.
    """

    def __init__(self, rows: int, columns: int) -> None:
        self._cells = [[" "] * columns for _ in range(rows)]
        self._styles = [[""] * columns for _ in range(rows)]

    def put(self, row: int, column: int, text: str, style: str = "") -> None:
        """Write a text; characters outside the canvas are left out. A wide character takes two cells."""
        from rich.cells import cell_len

        for character in text:
            width = cell_len(character)
            if 0 <= row < len(self._cells) and column >= 0 and column + width <= len(self._cells[row]):
                for k in range(width):
                    self._cells[row][column + k] = character if k == 0 else ""
                    self._styles[row][column + k] = style
            column += width

    def centre(self, row: int, column: int, width: int, text: str, style: str = "", *, keep_end: bool = False) -> None:
        """Write a text in the middle of ``width`` cells, shortened to fit.

        ``keep_end`` shortens in the middle instead of at the end.
        """
        from rich.cells import cell_len

        short = clipped_middle(text, width) if keep_end else clip_text(text, width)
        self.put(row, column + (width - cell_len(short)) // 2, short, style)

    def box(self, row: int, column: int, width: int, height: int, style: str = "", *, dashed: bool = False) -> None:
        """Draw a frame with rounded corners.

        ``width`` and ``height`` include the frame and are at least 2; the inside is left as it is.
        """
        across, down = ("╌", "╎") if dashed else ("─", "│")
        self.put(row, column, "╭" + across * (width - 2) + "╮", style)
        for k in range(1, height - 1):
            self.put(row + k, column, down, style)
            self.put(row + k, column + width - 1, down, style)
        self.put(row + height - 1, column, "╰" + across * (width - 2) + "╯", style)

    def text(self) -> Text:
        """Return the drawing as rich text, one line per row, without trailing blanks."""
        from rich.text import Text

        result = Text(no_wrap=True, overflow="crop")
        for number, (cells, styles) in enumerate(zip(self._cells, self._styles)):
            if number:
                result.append("\n")
            # Trailing blanks would wrap in a narrow terminal.
            last = max((k for k, character in enumerate(cells) if character not in (" ", "")), default=-1)
            start = 0
            for k in range(1, last + 2):
                if k == last + 1 or styles[k] != styles[start]:
                    result.append("".join(cells[start:k]), styles[start] or None)
                    start = k
        return result
