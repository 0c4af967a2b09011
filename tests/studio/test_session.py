"""What the page can do, without a browser: list, draw, map, stop, open, explain, compare, repeat."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.studio.conftest import Studio

import gridloom as gl
from gridloom.errors import OptionError
from gridloom.run import Store


@pytest.fixture(scope="module")
def mapped(studio: Studio) -> str:
    """The id of a mapping that the studio has made."""
    asked = {"source": "fir.c", "arch": {"arch": "torus:4x4"}, "effort": 20000, "seed": 1}
    job = studio.ask("map", asked)
    ended = studio.ended(job["id"])
    assert ended["state"] == "done", ended
    return str(ended["result"])


def test_loops_are_listed_under_the_name_of_the_file(studio: Studio) -> None:
    text = (studio.folder / "fir.c").read_text(encoding="utf-8")
    rows = studio.ask("loops", {"name": "fir.c", "text": text})
    assert rows[0]["source"] == "fir.c:fir,loop=0" and rows[0]["ops"]["mul"] == 8


def test_a_text_that_is_no_c_says_where(studio: Studio) -> None:
    answer = studio.ask("loops", {"name": "fir.c", "text": "int f( {\n"})
    assert "fir.c" in answer["error"]


def test_an_array_comes_with_its_picture_and_the_forms_of_its_mappers(studio: Studio) -> None:
    told = studio.ask("array", {"arch": "torus:4x4"})
    assert told["picture"].startswith("<svg") and told["mappers"][0]["name"] == "auto"
    modulo = next(row for row in told["mappers"] if row["name"] == "modulo")
    patience = next(field for field in modulo["fields"] if field["name"] == "patience")
    assert patience["default"] == "15" and patience["help"].startswith("Rounds without progress")


def test_an_array_in_yaml_is_drawn_and_a_wrong_one_names_its_key(studio: Studio) -> None:
    told = studio.ask("array", {"yaml": "family: torus\nrows: 2\ncols: 3\n"})
    assert told["name"] == "torus:2x3"
    wrong = studio.ask("array", {"yaml": "family: torus\nrows: 2\ncols: 3\nregs: many\n"})
    assert "regs" in wrong["error"]


def test_a_mapping_is_what_the_command_line_makes(studio: Studio, mapped: str) -> None:
    same = gl.map(str(studio.folder / "fir.c"), "torus:4x4", effort=20000, seed=1)
    ours = studio.session.mapping(mapped).mapping
    assert same.mapping is not None
    assert (ours.ii, ours.instances, ours.routes) == (same.mapping.ii, same.mapping.instances, same.mapping.routes)


def test_frames_of_a_search_tell_cost_and_phase(studio: Studio, mapped: str) -> None:
    job = next(job for job in studio.session.jobs.jobs.values() if job.result == mapped)
    assert job.frames[-1]["phase"] == "done"
    assert all(frame["seconds"] >= 0 for frame in job.frames)


def test_the_history_is_in_the_store_and_opens_again(studio: Studio, mapped: str) -> None:
    rows = studio.ask("store?name=history.sqlite")
    (row,) = [row for row in rows["rows"] if row["source"] == "fir.c" and row["status"] == "mapped"][:1]
    assert row["opens"]
    again = studio.ask("row", {"store": "history.sqlite", "key": row["key"]})
    assert studio.session.mapping(again["mapping"]).mapping.ii == studio.session.mapping(mapped).mapping.ii


def test_a_search_is_stopped_and_gives_what_it_has(studio: Studio) -> None:
    job = studio.ask("map", {"source": "kernel:fir,taps=24", "arch": {"arch": "torus:4x4"}, "time_limit": 600, "ii": 2})
    studio.client.post(f"/api/jobs/{job['id']}/stop", json={})
    assert studio.ended(job["id"])["state"] in ("done", "failed", "stopped", "error")


def test_a_page_that_missed_events_can_ask_for_the_searches(studio: Studio, mapped: str) -> None:
    assert mapped in {job["result"] for job in studio.ask("jobs")}


def test_a_run_with_the_same_data_is_run_once(studio: Studio, mapped: str) -> None:
    first = studio.session.run(mapped, {"iterations": 3})
    assert studio.session.run(mapped, {"iterations": 3}) is first
    assert studio.session.run(mapped, {"iterations": 4}) is not first


def test_a_failure_opens_with_its_reasons(studio: Studio) -> None:
    job = studio.ask("map", {"source": "fir.c", "arch": {"arch": "torus:2x2"}, "ii": 2, "effort": 100})
    ended = studio.ended(job["id"])
    assert ended["state"] == "failed"
    scene = studio.ask(f"scene/{ended['result']}")
    assert scene["kind"] == "failure" and scene["failure"]["constraint"] == "tiles"


def test_a_mistake_in_a_request_ends_the_job_with_a_sentence(studio: Studio) -> None:
    job = studio.ask("map", {"source": "fir.c:nothing", "arch": {"arch": "torus:4x4"}})
    ended = studio.ended(job["id"])
    assert ended["state"] == "error" and "nothing" in ended["error"]


def test_bounds_say_why_the_ii_is_not_lower(studio: Studio, mapped: str) -> None:
    told = studio.ask(f"explain/{mapped}")
    assert (told["ii"], told["mii"]) == (2, 2)
    assert told["verdict"] == "II 2 is the least there is: alu + mem + mul take 22 slots on 16 tiles."
    assert told["bounds"][0]["binding"] and len(told["bounds"][0]["tiles"]) == 16


def test_a_binding_recurrence_is_named_by_its_edges(studio: Studio) -> None:
    job = studio.ask("map", {"source": "iir.c", "arch": {"arch": "torus:4x4"}, "effort": 20000})
    told = studio.ask(f"explain/{studio.ended(job['id'])['result']}")
    recurrence = next(row for row in told["bounds"] if row["kind"] == "recurrence")
    assert recurrence["binding"] and recurrence["ii"] == told["ii"]
    assert len(recurrence["edges"]) == len(recurrence["nodes"]) >= 2


def test_a_comparison_marks_the_better_figure_and_the_nodes_that_moved(studio: Studio, mapped: str) -> None:
    job = studio.ask("map", {"source": "fir.c", "arch": {"arch": "torus:3x3"}, "effort": 20000, "seed": 1})
    other = studio.ended(job["id"])["result"]
    told = studio.ask(f"compare/{mapped}/{other}")
    ii = next(row for row in told["metrics"] if row["name"] == "II")
    assert ii["differs"] and ii["better"] == 0
    assert told["nodes"] and not told["same_array"]


def test_a_row_of_a_bench_store_is_mapped_again(studio: Studio, tmp_path: Path) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text(
        "suite: small\nsources: ['kernel:vector_add']\narchs: ['torus:2x2']\nbudget: {effort: 2000}\n",
        encoding="utf-8",
    )
    gl.bench(str(suite), jobs=1, store=studio.folder / "bench.sqlite")
    rows = studio.ask("store?name=bench.sqlite")
    assert rows["arrays"][0]["figures"]["mapped"] == 1.0
    answer = studio.ask("row", {"store": "bench.sqlite", "key": rows["rows"][0]["key"]})
    assert studio.ended(answer["job"]["id"])["state"] == "done"


def test_a_saved_mapping_is_one_that_check_and_simulate_accept(studio: Studio, mapped: str) -> None:
    assert studio.ask("save", {"name": "saved.json", "mapping": mapped}) == {"name": "saved.json"}
    assert gl.check(studio.folder / "saved.json") == []
    assert gl.simulate(studio.folder / "saved.json").ok


def test_the_store_holds_no_row_twice(studio: Studio) -> None:
    with Store(studio.folder / "history.sqlite", readonly=True) as store:
        rows = list(store.rows())
    assert len({row.key for row in rows}) == len(rows) > 0
    assert all(json.loads(json.dumps(row.asked))["function"] == "gridloom.studio" for row in rows)


@pytest.mark.parametrize(
    ("what", "start"),
    [
        ("fir.c", {"view": "write", "source": "fir.c"}),
        ("fir.c:fir,unroll=2", {"view": "write", "source": "fir.c:fir,unroll=2"}),
        ("kernel:fir,taps=4", {"view": "write", "source": "kernel:fir,taps=4"}),
        ("torus:4x4", {"view": "write", "arch": "torus:4x4"}),
        ("six-by-six.yaml", {"view": "write", "arch": "six-by-six.yaml"}),
        ("history.sqlite", {"view": "explore", "store": "history.sqlite"}),
    ],
)
def test_what_the_command_line_names_is_opened_first(studio: Studio, what: str, start: dict[str, str]) -> None:
    studio.session.begin(what)
    assert studio.session.start == start
    studio.session.start = {}


def test_a_file_outside_the_folder_is_not_opened(studio: Studio, tmp_path: Path) -> None:
    (tmp_path / "other.c").write_text("int x;", encoding="utf-8")
    with pytest.raises(OptionError, match="outside of the working folder"):
        studio.session.begin(str(tmp_path / "other.c"))
