"""Takes the pictures of the studio and of the report that the documents show.

    python docs/.site/studio_pictures.py [animation]

With ``animation`` only `studio.gif` is made. Needs the extra studio, playwright, Pillow and a Chromium on the path.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

import gridloom as gl
from gridloom.studio.session import Session
from gridloom.studio.web.serving import StudioServer

REPOSITORY = Path(__file__).resolve().parents[2]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
PATIENCE = 180_000
#: Width and height of the animated picture, its colours, and the cycles that it steps through.
FRAME = (960, 600)
COLOURS = 96
CYCLES = 14


@contextmanager
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield opened
        opened.close()


@contextmanager
def studio(folder: Path, what: str | None = None) -> Iterator[StudioServer]:
    """A studio over a folder, with what the command line would name opened."""
    session = Session(folder, store=folder / "history.sqlite")
    session.begin(what)
    server = StudioServer(session)
    with server.running():
        yield server


def pictures(folder: Path) -> None:
    """Take the pictures that the documents show."""
    with tempfile.TemporaryDirectory() as work, browser() as chromium:
        shutil.copy(REPOSITORY / "examples" / "kernels" / "fir.c", work)
        with studio(Path(work), "fir.c") as server:
            page = chromium.new_page(viewport={"width": 1440, "height": 900}, device_scale_factor=1)
            page.goto(server.address)
            page.wait_for_selector("#loops label", timeout=PATIENCE)
            page.wait_for_selector("#arch-picture svg", timeout=PATIENCE)
            save(page, folder / "studio-write.png")
            map_here(page)
            step_to(page, "cycle 24")
            page.click("#array .node.on >> nth=1", force=True)
            page.mouse.move(4, 4)
            save(page, folder / "studio-step.png")
            page.click("#tab-write")
            page.fill("#arch", "torus:3x3")
            page.wait_for_selector("#arch-words:has-text('3 × 3')", timeout=PATIENCE)
            map_here(page)
            page.click("#tab-compare")
            page.wait_for_selector("#figures", timeout=PATIENCE)
            save(page, folder / "studio-compare.png")
        page = chromium.new_page(viewport={"width": 1280, "height": 860}, device_scale_factor=1)
        page.goto(report(Path(work) / "report.html").as_uri())
        save(page, folder / "report.png")


def animation(folder: Path) -> None:
    """Make the animated picture of the README: write a loop, map it, step through the cycles."""
    frames: list[tuple[Image.Image, int]] = []

    def keep(milliseconds: int) -> None:
        shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB").resize(FRAME, Image.Resampling.LANCZOS)
        frames.append((shot, milliseconds))

    with tempfile.TemporaryDirectory() as work, browser() as chromium:
        shutil.copy(REPOSITORY / "examples" / "kernels" / "fir.c", work)
        with studio(Path(work), "fir.c") as server:
            page = chromium.new_page(viewport={"width": 1440, "height": 900}, device_scale_factor=1)
            page.goto(server.address)
            page.wait_for_selector("#loops label", timeout=PATIENCE)
            page.wait_for_selector("#arch-picture svg", timeout=PATIENCE)
            page.wait_for_timeout(400)
            keep(2500)
            map_here(page)
            page.wait_for_timeout(400)
            keep(2000)
            step_to(page, "cycle 20")
            page.click("#array .node.on >> nth=1", force=True)
            page.mouse.move(4, 4)
            for _ in range(CYCLES):
                page.wait_for_timeout(250)
                keep(700)
                page.keyboard.press("n")
    path = folder / "studio.gif"
    # One palette for all frames, so that what does not change costs nothing.
    sheet = Image.new("RGB", (FRAME[0], FRAME[1] * 3))
    for k, (shot, _) in enumerate([frames[0], frames[1], frames[-1]]):
        sheet.paste(shot, (0, FRAME[1] * k))
    palette = sheet.quantize(COLOURS, dither=Image.Dither.NONE)
    drawn = [shot.quantize(palette=palette, dither=Image.Dither.NONE) for shot, _ in frames]
    durations = [milliseconds for _, milliseconds in frames]
    drawn[0].save(path, save_all=True, append_images=drawn[1:], duration=durations, loop=0, optimize=True)
    sys.stdout.write(f"wrote {path}: {path.stat().st_size:,} bytes\n")


def report(path: Path) -> Path:
    """Write the report that `make demo` writes."""
    gl.save(gl.map(REPOSITORY / "examples/kernels/fir.c", "torus:4x4", seed=1, effort=20_000), path)
    return path


def map_here(page: Page) -> None:
    """Map what is in the editor, and wait for the mapping."""
    before = page.get_attribute(".mapping", "data-mapping") if page.query_selector(".mapping") else ""
    page.fill("#seed", "1")
    page.fill("#effort", "20000")
    page.click("#map-button")
    ready = "id => { const m = document.querySelector('.mapping[data-ready]'); return m && m.dataset.mapping !== id; }"
    page.wait_for_function(ready, arg=before, timeout=PATIENCE)


def step_to(page: Page, text: str) -> None:
    """Go to a breakpoint."""
    page.fill("#breakpoint", text)
    page.press("#breakpoint", "Enter")
    page.wait_for_selector("#array [data-value-of]", timeout=PATIENCE)
    page.fill("#breakpoint", "")


def save(page: Page, path: Path) -> None:
    """Take a picture of the window."""
    page.wait_for_timeout(400)
    page.screenshot(path=path)
    sys.stdout.write(f"wrote {path}\n")


if __name__ == "__main__":
    figures = REPOSITORY / "docs" / "figures"
    animation(figures)
    if "animation" not in sys.argv[1:]:
        pictures(figures)
