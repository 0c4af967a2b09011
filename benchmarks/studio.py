"""The studio in a browser: its pictures for the documents, how fast it paints, and what watching a search costs.

    python benchmarks/studio.py pictures -o docs/figures     # writes studio-*.png and report.png
    python benchmarks/studio.py speed [--mapping FILE]       # first paint, and frames while stepping a large mapping
    python benchmarks/studio.py watching [--runs 7]          # a search with and without a page that watches it

Needs the extra studio, playwright and a Chromium on the path.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Listener
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

import gridloom as gl
from gridloom.flow.display.report import result_page
from gridloom.flow.request import Request
from gridloom.flow.run import run
from gridloom.search.budget import Progress
from gridloom.studio.searches.worker import SearchTask, ServerLine
from gridloom.studio.session import Session
from gridloom.studio.web.serving import StudioServer

REPOSITORY = Path(__file__).resolve().parents[1]
LARGE = "examples/kernels/large/gemm16.c:unroll=64,reduced=false"
LARGE_ARRAY = "torus:64x64,regs=4,bus=none"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
PATIENCE = 180_000


def tell(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")


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


# -- pictures ---------------------------------------------------------------------------------------------------------


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


def report(path: Path) -> Path:
    """Write the report that `make demo` writes."""
    asked = Request(source=str(REPOSITORY / "examples/kernels/fir.c"), arch="torus:4x4", seed=1, effort=20_000)
    path.write_text(result_page(run(asked)), encoding="utf-8")
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
    tell(f"wrote {path}")


# -- speed ------------------------------------------------------------------------------------------------------------

STEPS = """async (count) => {
  const times = [];
  const forward = document.querySelector("button[aria-label='One cycle forward']");
  for (let k = 0; k < count; k++) {
    const begin = performance.now();
    forward.click();
    // The cycle is drawn in the next frame; the one after it begins when that is done.
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    times.push(performance.now() - begin);
  }
  return times;
}"""
DRAWN = """() => { const m = document.querySelector('#map'); if (!m) return false;
  const d = m.getContext('2d').getImageData(0, 0, m.width, m.height).data; return d.some((v) => v > 0); }"""


def speed(mapping: Path | None) -> None:
    """Print how long a large mapping takes to paint, and its frames while it is stepped through."""
    with tempfile.TemporaryDirectory() as work, browser() as chromium:
        path = Path(work) / "large.json"
        if mapping is None:
            gl.save(gl.map(str(REPOSITORY / LARGE), LARGE_ARRAY), path)
        else:
            shutil.copy(mapping, path)
        with studio(Path(work), "large.json") as server:
            page = chromium.new_page(viewport={"width": 1440, "height": 900})
            times = []
            for _ in range(3):
                began = time.perf_counter()
                page.goto(server.address)
                page.wait_for_function(DRAWN, timeout=PATIENCE)
                times.append(time.perf_counter() - began)
            tell(f"first paint of the opened mapping: {', '.join(f'{t:.2f}' for t in times)} s")
            page.wait_for_selector(".mapping[data-ready]", timeout=PATIENCE)
            frames = sorted(page.evaluate(STEPS, 60))
            tell(
                f"frames while stepping: median {statistics.median(frames):.1f} ms, "
                f"9 of 10 within {frames[int(0.9 * len(frames))]:.1f} ms, worst {frames[-1]:.1f} ms"
            )


# -- watching ---------------------------------------------------------------------------------------------------------


def watching(runs: int, source: str, arch: str, effort: int) -> None:
    """Print the seconds of one search with the same effort, alone and with a page that watches it, in turn."""
    telling(source, arch, effort)
    asked: dict[str, Any] = {"effort": effort, "seed": 3}
    alone: list[float] = []
    watched: list[float] = []
    if not runs:
        return
    with tempfile.TemporaryDirectory() as work, browser() as chromium, studio(Path(work)) as server:
        page = chromium.new_page()
        page.goto(server.address)
        page.wait_for_selector("body[data-ready]", timeout=PATIENCE)
        for k in range(runs + 1):
            plain = run(Request(source=source, arch=arch, **asked)).seconds
            seen = _watched(server, source, arch, asked)
            # The first pair compiles and loads kernels.
            if k:
                alone.append(plain)
                watched.append(seen)
                tell(f"alone {plain:.3f} s, watched {seen:.3f} s")
        page.close()
    plain, seen = statistics.median(alone), statistics.median(watched)
    tell(f"medians: alone {plain:.3f} s, watched {seen:.3f} s, ratio {seen / plain:.3f}")


def telling(source: str, arch: str, effort: int) -> None:
    """Print the processor time that a search spends on telling the studio about itself, and its share of the whole.

    Processor time does not depend on what else the machine does, so that this figure needs no quiet machine.
    """
    spent = 0.0
    with Listener(authkey=b"studio") as listener:
        threading.Thread(target=_drain, args=(listener,), daemon=True).start()
        line = ServerLine(SearchTask(id="job", request={}, address=str(listener.address), key=b"studio"))

        def listen(progress: Progress) -> None:
            nonlocal spent
            began = time.thread_time()
            line.listen(progress)
            spent += time.thread_time() - began

        def asked() -> bool:
            nonlocal spent
            began = time.thread_time()
            found = line.interrupted()
            spent += time.thread_time() - began
            return found

        request = Request(source=source, arch=arch, effort=effort, seed=3, progress=listen, interrupted=asked)
        run(request)
        spent, began = 0.0, time.process_time()
        run(request)
        whole = time.process_time() - began
        line.close()
    tell(f"telling the studio: {1000 * spent:.1f} ms of {whole:.2f} s of processor time, {100 * spent / whole:.2f} %")


def _drain(listener: Listener) -> None:
    """Take what a search sends until it hangs up."""
    with contextlib.suppress(EOFError, OSError), listener.accept() as pipe:
        while True:
            pipe.recv_bytes()


def _watched(server: StudioServer, source: str, arch: str, asked: dict[str, Any]) -> float:
    """The seconds of a search that the studio runs."""
    from gridloom.studio.requests import ArrayAsked, MapAsked

    job = server.session.map(MapAsked(source=source, arch=ArrayAsked(arch=arch), **asked))
    while job.state in ("queued", "running"):
        time.sleep(0.02)
    frames = [frame for frame in job.frames if not frame["compiling"]]
    return float(frames[-1]["seconds"])


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    shots = commands.add_parser("pictures")
    shots.add_argument("-o", type=Path, default=REPOSITORY / "docs" / "figures")
    timed = commands.add_parser("speed")
    timed.add_argument("--mapping", type=Path)
    watched = commands.add_parser("watching")
    watched.add_argument("--runs", type=int, default=7, help="pairs of searches; 0: only the processor time")
    watched.add_argument("--source", default="kernel:fir,taps=16")
    watched.add_argument("--arch", default="torus:4x4")
    watched.add_argument("--effort", type=int, default=60_000)
    given = parser.parse_args()
    if given.command == "pictures":
        pictures(given.o)
    elif given.command == "speed":
        speed(given.mapping)
    else:
        watching(given.runs, given.source, given.arch, given.effort)


if __name__ == "__main__":
    main()
