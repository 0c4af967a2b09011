"""A studio on a free port, in a folder of its own, for the tests of a module."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests import hand_mappings as hand
from tests.conftest import REPOSITORY

from gridloom.mapping import json_format

if TYPE_CHECKING:
    from gridloom.studio.session import Session
    from gridloom.studio.web.serving import StudioServer


@dataclass
class Studio:
    """A running studio: its folder, its session and a client that has the token."""

    folder: Path
    session: Session
    server: StudioServer
    client: Any

    @property
    def address(self) -> str:
        return self.server.address

    def ask(self, path: str, body: Any = None) -> Any:
        """The answer to a question; the error as it stands where there is one."""
        answer = self.client.get(f"/api/{path}") if body is None else self.client.post(f"/api/{path}", json=body)
        return answer.json()

    def ended(self, job: str) -> dict[str, Any]:
        """The job once it is over."""
        for _ in range(6000):
            found = self.session.jobs.get(job)
            if found.state not in ("queued", "running"):
                return found.to_dict()
            time.sleep(0.05)
        raise AssertionError("the job does not end")


def write_folder(folder: Path) -> None:
    """A small working folder: two C files, a Python kernel, an array, two mappings."""
    for name in ("fir.c", "iir.c"):
        shutil.copy(REPOSITORY / "examples" / "kernels" / name, folder / name)
    shutil.copy(REPOSITORY / "examples" / "arrays" / "six-by-six.yaml", folder / "six-by-six.yaml")
    (folder / "kernels.py").write_text(
        'from pathlib import Path\n\nimport gridloom as gl\n\nPath(__file__).with_suffix(".ran").touch()\n\n\n'
        "@gl.kernel\ndef scale(x: gl.Stream, y: gl.Stream, n: int):\n    for i in range(n):\n        y[i] = 3 * x[i]\n",
        encoding="utf-8",
    )
    for name in ("torus_rotating", "mesh_fifo_2"):
        (folder / f"{name}.json").write_text(json_format.dumps(hand.LEGAL[name]()), encoding="utf-8")


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    for package in ("fastapi", "uvicorn", "websockets"):
        pytest.importorskip(package)
    httpx = pytest.importorskip("httpx")
    from gridloom.studio.session import Session
    from gridloom.studio.web.serving import StudioServer

    folder = tmp_path_factory.mktemp("studio")
    write_folder(folder)
    session = Session(folder, store=folder / "history.sqlite", workers=1)
    server = StudioServer(session)
    headers = {"X-Gridloom-Token": server.token}
    with (
        server.running(),
        httpx.Client(base_url=f"http://127.0.0.1:{server.port}", headers=headers, timeout=60) as client,
    ):
        yield Studio(folder, session, server, client)
