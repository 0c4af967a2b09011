"""Claims about the studio: what watching a search costs it, and how fast a large mapping is painted."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
import time
from multiprocessing.connection import Listener
from pathlib import Path
from statistics import median
from typing import Any

import gridloom as gl
from benchmarks.claim import REPOSITORY, Claim, Row

LARGE, LARGE_ARRAY = "examples/kernels/large/gemm16.c:unroll=64,reduced=false", "torus:64x64,regs=4,bus=none"
_PATIENCE = 180_000
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
#: Steps through a mapping; a cycle is drawn in the next frame, and the one after it begins when that is done.
_STEPS = """async (count) => {
  const times = [], forward = document.querySelector("button[aria-label='One cycle forward']");
  for (let k = 0; k < count; k++) {
    const begin = performance.now();
    forward.click();
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    times.push(performance.now() - begin);
  }
  return times;
}"""
_DRAWN = """() => { const m = document.querySelector('#map'); if (!m) return false;
  const d = m.getContext('2d').getImageData(0, 0, m.width, m.height).data; return d.some((v) => v > 0); }"""


def watch_search(asked: Row) -> Row:
    """Return the CPU time that a search spends on reporting to the studio, and its share of the whole."""
    from gridloom.studio.searches.worker import SearchTask, ServerLine

    spent = [0.0]

    def timed(call: Any) -> Any:
        def wrapped(*given: Any) -> Any:
            began = time.thread_time()
            found = call(*given)
            spent[0] += time.thread_time() - began
            return found

        return wrapped

    def drain(listener: Listener) -> None:
        with contextlib.suppress(EOFError, OSError), listener.accept() as pipe:
            while True:
                pipe.recv_bytes()

    with Listener(authkey=b"studio") as listener:
        threading.Thread(target=drain, args=(listener,), daemon=True).start()
        line = ServerLine(SearchTask(id="job", request={}, address=str(listener.address), key=b"studio"))
        given: Row = {"effort": asked["effort"], "seed": 3, "progress": timed(line.listen),
                      "interrupted": timed(line.interrupted)}  # fmt: skip
        gl.map(asked["source"], asked["arch"], **given)
        spent[0], began = 0.0, time.process_time()
        gl.map(asked["source"], asked["arch"], **given)
        whole = time.process_time() - began
        line.close()
    return {"ms_reporting": round(1e3 * spent[0], 2), "cpu": round(whole, 3), "share": round(spent[0] / whole, 5)}


def paint_mapping(asked: Row) -> Row:
    """Return the seconds to the first paint of a large mapping, and the frames while it is stepped through."""
    from playwright.sync_api import sync_playwright

    from gridloom.studio.session import Session
    from gridloom.studio.web.serving import StudioServer

    with tempfile.TemporaryDirectory() as work, sync_playwright() as driver:
        gl.save(gl.map(str(REPOSITORY / asked["source"]), asked["arch"]), Path(work) / "large.json")
        session = Session(Path(work), store=Path(work) / "history.sqlite")
        session.begin("large.json")
        server = StudioServer(session)
        chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=_FLAGS)
        with server.running():
            page, times = chromium.new_page(viewport={"width": 1440, "height": 900}), []
            for _ in range(3):
                began = time.perf_counter()
                page.goto(server.address)
                page.wait_for_function(_DRAWN, timeout=_PATIENCE)
                times.append(time.perf_counter() - began)
            page.wait_for_selector(".mapping[data-ready]", timeout=_PATIENCE)
            frames = sorted(page.evaluate(_STEPS, 60))
        chromium.close()
    return {"first_paint_s": round(median(times), 2), "frame_ms": round(median(frames), 1),
            "nine_of_ten_ms": round(frames[int(0.9 * len(frames))], 1)}  # fmt: skip


CLAIMS = (
    Claim(
        name="speed/watching", measures="CPU time that a search spends on reporting to the studio",
        ask=lambda quick: [{"source": "kernel:fir,taps=16", "arch": "torus:4x4", "effort": 60_000}],
        measure=watch_search, depends=("studio.searches", "targets.modulo"), minutes=1, quick_minutes=0.5,
        needs=("fastapi",), tolerance=dict.fromkeys(("ms_reporting", "cpu", "share"), float("inf")),
    ),
    Claim(
        name="speed/studio", measures="seconds until a large mapping is painted, and frames while stepping through it",
        ask=lambda quick: [{"source": LARGE, "arch": LARGE_ARRAY}], measure=paint_mapping, depends=("studio",),
        minutes=5, needs=("fastapi", "playwright", "chromium"),
        tolerance=dict.fromkeys(("first_paint_s", "frame_ms", "nine_of_ten_ms"), float("inf")),
    ),
)  # fmt: skip
