import csv
import gc
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import sample_jobs
from sample_jobs import measure, measure_jobs, plain_rows, undisturbed_rows

from gridloom.errors import MissingExtra
from gridloom.run import (
    ExecutorSpec,
    Job,
    JobError,
    JobOutcome,
    Store,
    StoreError,
    ask,
    export_csv,
    export_parquet,
    run_stored,
)
from gridloom.run import store as store_module

INLINE = ExecutorSpec(backend="inline")


def done(job, value):
    return JobOutcome(job.key, "done", value, None, 0.25, "host:1")


def start_client(path, count, seconds, backend="processes"):
    command = [sys.executable, sample_jobs.__file__, str(path), str(count), str(seconds), backend]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def count_rows(path):
    if not Path(path).exists():
        return 0
    connection = sqlite3.connect(path, timeout=10)
    try:
        return connection.execute("SELECT count(*) FROM results").fetchone()[0]
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


def wait_for_rows(path, count, client):
    deadline = time.monotonic() + 60
    while count_rows(path) < count and client.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)


def test_row_comes_back_as_it_was_put(store):
    job = ask("f", {"a": [1, 2]}, version="3")
    before = time.time()
    assert store.put(job, done(job, {"ii": 2, "name": "größe"}))
    row = store.get(job.key)
    assert row.asked == {"function": "f", "version": "3", "parameters": {"a": [1, 2]}}
    assert (row.status, row.value, row.error) == ("done", {"ii": 2, "name": "größe"}, None)
    assert (row.seconds, row.worker) == (0.25, "host:1")
    assert before <= row.finished <= time.time()
    assert store.get("other") is None


def test_second_result_of_a_job_is_ignored(store):
    job = ask("f", {})
    assert store.put(job, done(job, 1))
    assert not store.put(job, done(job, 2))
    assert [row.value for row in store.rows()] == [1]


def test_a_key_is_in_the_store_once_it_has_a_row(store):
    jobs = [ask("f", {"n": n}) for n in range(2)]
    store.put(jobs[0], done(jobs[0], 0))
    assert jobs[0].key in store
    assert jobs[1].key not in store


def test_value_that_json_cannot_hold_is_stored_as_an_error(store):
    job = ask("f", {})
    store.put(job, done(job, {"x": {1, 2}}))
    row = store.get(job.key)
    assert (row.status, row.error.type) == ("error", "NotStorable")
    assert row.error.message.startswith("the job's result cannot be stored: x: found a set")


def test_rows_are_read_while_others_are_written(store):
    for n in range(50):
        job = ask("f", {"n": n})
        store.put(job, done(job, n))
    seen = 0
    for _ in store.rows():
        job = ask("g", {"n": seen})
        store.put(job, done(job, 0))
        seen += 1
    assert seen == 50
    assert len(store) == 100


def test_threads_share_a_store(store):
    def write(first):
        for n in range(first, first + 100):
            job = ask("f", {"n": n})
            store.put(job, done(job, n))

    threads = [threading.Thread(target=write, args=(first,)) for first in (0, 50, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(row.value for row in store.rows()) == list(range(200))


# Opening


def test_file_of_something_else_is_refused_with_what_to_do(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, and long enough to be sure of it\n" * 50)
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught:
        Store(path)
    assert str(caught.value) == (
        f"{path}: is damaged or not a store (file is not a database); move it away and start again, or save what can "
        f"be read with sqlite3 {path} .recover | sqlite3 recovered.sqlite"
    )
    assert path.read_bytes() == before


def test_database_of_another_program_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(StoreError, match="is an SQLite file of another program"):
        Store(path)


def test_damaged_store_is_refused(tmp_path):
    path = tmp_path / "results.sqlite"
    with Store(path) as store:
        for job in measure_jobs(200):
            store.put(job, done(job, "x" * 200))
    data = bytearray(path.read_bytes())
    data[4096 * 2 :] = os.urandom(len(data) - 4096 * 2)
    path.write_bytes(data)
    with pytest.raises(StoreError, match="is damaged or not a store"), Store(path) as store:
        list(store.rows())


def test_folder_that_is_not_there_is_explained(tmp_path):
    with pytest.raises(StoreError, match="cannot be opened; expected a file in a folder that exists"):
        Store(tmp_path / "none" / "results.sqlite")


@pytest.mark.parametrize("statement", ["PRAGMA application_id", "PRAGMA user_version", "SELECT count(*)", "BEGIN"])
def test_another_process_creates_the_store_while_it_is_opened(tmp_path, monkeypatch, statement):
    """Whatever lies between two of its reads: what a file is, is decided on one state of it."""
    path = tmp_path / "results.sqlite"
    connect = Store._connect

    class Interrupted:
        def __init__(self, connection):
            self._connection = connection

        def __getattr__(self, name):
            return getattr(self._connection, name)

        def execute(self, sql, *arguments):
            found = self._connection.execute(sql, *arguments)
            if sql.startswith(statement) and Store._connect is not connect:
                monkeypatch.setattr(Store, "_connect", connect)
                with Store(path) as other:
                    other.put(job, done(job, 1))
            return found

    job = ask(measure, {"n": 1, "seconds": 0.0}, version="1")
    monkeypatch.setattr(Store, "_connect", lambda self, **how: Interrupted(connect(self, **how)))
    with Store(path) as store:
        assert len(store) == 1


def test_a_transaction_that_an_interrupt_left_open_is_undone(store):
    """As when Ctrl-C comes between its begin and its first statement, and what holds it is not yet collected."""
    first, second = (ask(measure, {"n": n, "seconds": 0.0}, version="1") for n in (1, 2))
    open_still = store._transaction()
    open_still.__enter__()
    assert store.put(first, done(first, 1))
    with store._transaction():
        del open_still
        gc.collect()
        assert store._connection.in_transaction
    assert store.put(second, done(second, 2))
    assert len(store) == 2


def test_read_only_store_reads_and_does_not_create(tmp_path):
    path = tmp_path / "results.sqlite"
    with pytest.raises(StoreError, match="there is no such file"):
        Store(path, readonly=True)
    job = ask("f", {})
    with Store(path) as store:
        store.put(job, done(job, 1))
        with Store(path, readonly=True) as reader:
            assert reader.get(job.key).value == 1
    with Store(path, readonly=True) as reader:
        assert len(reader) == 1
        with pytest.raises(StoreError, match="read-only"):
            reader.put(job, done(job, 2))


def test_newer_schema_is_refused(tmp_path):
    path = tmp_path / "results.sqlite"
    Store(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match="has schema version 99, newer than this gridloom's 1; upgrade gridloom"):
        Store(path)


def test_older_schema_is_migrated_in_place(tmp_path, monkeypatch):
    path = tmp_path / "results.sqlite"
    job = ask("f", {})
    with Store(path) as store:
        store.put(job, done(job, 1))

    def add_note(connection):
        connection.execute("ALTER TABLE results ADD COLUMN note TEXT DEFAULT 'none'")

    monkeypatch.setattr(store_module, "MIGRATIONS", [*store_module.MIGRATIONS, add_note])
    with Store(path) as store:
        assert store.get(job.key).value == 1
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT note FROM results").fetchall() == [("none",)]
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    connection.close()


def test_migration_that_fails_leaves_the_store_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "results.sqlite"
    Store(path).close()

    def fail(connection):
        connection.execute("CREATE TABLE half (x)")
        raise RuntimeError("broken migration")

    with monkeypatch.context() as patch:
        patch.setattr(store_module, "MIGRATIONS", [*store_module.MIGRATIONS, fail])
        with pytest.raises(RuntimeError, match="broken migration"):
            Store(path)
    with Store(path) as store:
        assert len(store) == 0
    with sqlite3.connect(path) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.close()
    assert tables == {"results", "claims"}


def test_lock_held_by_another_process_is_explained(store, monkeypatch):
    monkeypatch.setattr(store_module, "_BUSY_SECONDS", 0.05)
    other = sqlite3.connect(store.path, isolation_level=None)
    job = ask("f", {})
    with Store(store.path) as impatient:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="is locked by another process"):
            impatient.put(job, done(job, 1))
        other.execute("ROLLBACK")
        assert impatient.put(job, done(job, 1))
    other.close()


# Claims


def test_job_is_granted_to_one_store_and_taken_for_the_other(store):
    with Store(store.path) as other:
        assert store.claim("k") == "granted"
        assert other.claim("k") == "taken"
        assert store.claim("k") == "taken"
        store.release()
        assert other.claim("k") == "granted"


def test_put_ends_the_claim(store):
    job = ask("f", {})
    assert store.claim(job.key) == "granted"
    store.put(job, done(job, 1))
    with Store(store.path) as other:
        assert other.claim(job.key) == "stored"


def test_claim_expires_unless_it_is_renewed(store, monkeypatch):
    now = [1_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    with Store(store.path) as other:
        assert store.claim("k", lease=60) == "granted"
        now[0] += 50
        store.renew(lease=60)
        now[0] += 50
        assert other.claim("k") == "taken"
        now[0] += 11
        assert other.claim("k") == "granted"


def test_claim_of_a_dead_process_on_this_machine_is_free_at_once(store):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    with Store(store.path) as other:
        other.owner = f"{socket.gethostname()}:{dead.pid}:abc"
        assert other.claim("k", lease=1e6) == "granted"
        assert store.claim("k") == "granted"
        other.owner = f"elsewhere:{dead.pid}:abc"
        assert other.claim("j", lease=1e6) == "granted"
        assert store.claim("j") == "taken"


# Running with a store


def test_rows_of_a_run_are_those_of_direct_calls(store):
    run = run_stored(measure, measure_jobs(40), store, executor=INLINE)
    assert (run.computed, run.skipped, run.failed, run.interrupted) == (40, 0, 6, False)
    assert plain_rows(store) == undisturbed_rows(40)


def test_second_run_computes_only_what_is_missing(store):
    run_stored(measure, measure_jobs(20), store, executor=INLINE)
    calls = []
    run = run_stored(lambda p: calls.append(p["n"]) or measure(p), measure_jobs(30), store, executor=INLINE)
    assert calls == list(range(20, 30))
    assert (run.computed, run.skipped) == (10, 20)
    assert plain_rows(store) == undisturbed_rows(30)


def test_without_resume_a_store_with_rows_is_refused(store):
    assert run_stored(measure, measure_jobs(3), store, executor=INLINE, resume=False).computed == 3
    with pytest.raises(StoreError, match=r"holds 3 results already; resume \(--resume\), or name a new file"):
        run_stored(measure, measure_jobs(3), store, executor=INLINE, resume=False)


def test_job_asked_twice_in_one_run_is_computed_once(store):
    calls = []
    jobs = measure_jobs(5) + measure_jobs(5)
    run = run_stored(
        lambda p: calls.append(p["n"]), jobs, store, executor=ExecutorSpec(backend="threads", workers=2, in_flight=10)
    )
    assert sorted(calls) == [0, 1, 2, 3, 4]
    assert (run.computed, run.skipped) == (5, 5)


def test_failed_jobs_are_tried_again_only_when_asked(store):
    run_stored(measure, measure_jobs(10), store, executor=INLINE)
    assert store.counts() == {"done": 9, "error": 1}
    assert run_stored(lambda p: 1 / 0, measure_jobs(10), store, executor=INLINE).computed == 0
    again = run_stored(lambda p: "mended", measure_jobs(10), store, executor=INLINE, retry_failed=True)
    assert (again.computed, again.skipped) == (1, 9)
    assert store.counts() == {"done": 10}
    assert [row.value for row in store.rows()].count("mended") == 1


def test_interrupted_run_gives_back_its_claims(store):
    def interrupt(parameters):
        if parameters["n"] == 4:
            raise KeyboardInterrupt
        return 0

    run = run_stored(interrupt, measure_jobs(9), store, executor=INLINE)
    assert run.interrupted
    assert run.computed == len(store) == 4
    with Store(store.path) as other:
        assert other.claim(measure_jobs(9)[4].key) == "granted"


def test_progress_counts_what_was_stored_already(store):
    run_stored(measure, measure_jobs(6), store, executor=INLINE)
    told = []
    run_stored(measure, measure_jobs(10), store, executor=INLINE, progress=told.append)
    assert (told[-1].done, told[-1].total, told[-1].skipped, told[-1].failed) == (10, 10, 6, 0)


def test_long_job_keeps_its_claim(store):
    with Store(store.path) as other:
        answers = []

        def long(_):
            for _ in range(6):
                time.sleep(0.1)
                answers.append(other.claim("k", lease=0.3))

        run_stored(long, [Job("k", None)], store, executor=INLINE, lease=0.3)
    assert answers == ["taken"] * 6


def test_two_processes_share_a_store_and_compute_each_job_once(tmp_path):
    path = tmp_path / "results.sqlite"
    clients = [start_client(path, 300, 0.005) for _ in range(2)]
    reports = []
    for client in clients:
        output, errors = client.communicate(timeout=120)
        assert errors == ""
        reports.append([int(word) for word in output.split()[:3]])
    with Store(path) as store:
        assert plain_rows(store) == undisturbed_rows(300, 0.005)
    assert sum(computed for computed, _, _ in reports) == 300
    assert all(computed + skipped == 300 for computed, skipped, _ in reports)
    assert all(computed > 0 for computed, _, _ in reports)


def kill_and_resume(path, count, seconds, kills, seed):
    """Kill the client, one worker, or all of its processes, `kills` times; then let one run end. Return the rows."""
    choose = random.Random(seed)
    for round_ in range(kills):
        client = start_client(path, count, seconds)
        # Spread over the whole run, so that late rows are disturbed as well as early ones.
        wait_for_rows(path, int(count * (round_ + choose.random()) / (kills + 1)), client)
        time.sleep(choose.uniform(0, 0.05))
        victim = choose.choice(["client", "worker", "everything"])
        if victim == "everything":
            os.killpg(client.pid, signal.SIGKILL)
        else:
            if victim == "worker":
                for pid in workers_of(client.pid)[:1]:
                    os.kill(pid, signal.SIGKILL)
                time.sleep(choose.uniform(0, 0.2))
            client.kill()
        client.communicate()
    _, errors = start_client(path, count, seconds).communicate(timeout=300)
    assert errors == ""
    with Store(path) as store:
        return plain_rows(store)


def workers_of(pid):
    found = Path(f"/proc/{pid}/task/{pid}/children")
    children = [int(word) for word in found.read_text().split()] if found.exists() else []
    return [child for child in children if "spawn_main" in command_line(child)]


def command_line(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def test_killed_run_goes_on_to_exactly_the_rows_of_an_undisturbed_run(tmp_path):
    rows = kill_and_resume(tmp_path / "results.sqlite", count=400, seconds=0.005, kills=4, seed=3)
    assert rows == undisturbed_rows(400, 0.005)


@pytest.mark.slow
def test_two_thousand_jobs_killed_twenty_times(tmp_path):
    rows = kill_and_resume(tmp_path / "results.sqlite", count=2_000, seconds=0.005, kills=20, seed=4)
    assert rows == undisturbed_rows(2_000, 0.005)


def test_dask_gives_the_same_rows(store):
    pytest.importorskip("distributed")
    spec = ExecutorSpec(backend="dask", workers=2)
    run = run_stored(measure, measure_jobs(100), store, executor=spec)
    assert run.computed == 100
    assert plain_rows(store) == undisturbed_rows(100)


# Export


def test_csv_has_a_column_for_each_parameter_and_field(store, tmp_path):
    good = ask("f", {"arch": {"rows": 4}, "seed": 1})
    bad = ask("f", {"arch": {"rows": 8}, "seed": 2})
    store.put(good, done(good, {"ii": 3, "depths": [1, 2], "legal": True}))
    store.put(bad, JobOutcome(bad.key, "error", None, JobError("ValueError", "no room"), 0.5, "host:2"))
    path = tmp_path / "out.csv"
    assert export_csv(store, path) == 2
    with path.open(newline="") as file:
        rows = {row["parameters.seed"]: row for row in csv.DictReader(file)}
    assert list(rows["1"]) == [
        "key", "function", "version", "status", "parameters.arch.rows", "parameters.seed", "value.depths", "value.ii",
        "value.legal", "error.type", "error.message", "seconds", "worker", "finished",
    ]  # fmt: skip
    assert (rows["1"]["value.ii"], rows["1"]["value.depths"], rows["1"]["value.legal"]) == ("3", "[1, 2]", "true")
    assert (rows["2"]["status"], rows["2"]["error.type"], rows["2"]["value.ii"]) == ("error", "ValueError", "")
    assert sorted(os.listdir(tmp_path)) == sorted({"out.csv", *(p.name for p in tmp_path.glob("results.sqlite*"))})


def test_export_that_fails_leaves_the_old_file(store, tmp_path, monkeypatch):
    path = tmp_path / "out.csv"
    path.write_text("old")
    job = ask("f", {})
    store.put(job, done(job, 1))
    monkeypatch.setattr(csv.DictWriter, "writerow", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        export_csv(store, path)
    assert path.read_text() == "old"
    assert not list(tmp_path.glob(".out.csv*"))


def test_parquet_has_the_columns_of_the_csv_with_types(store, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    run_stored(measure, measure_jobs(8), store, executor=INLINE)
    mixed = [ask("g", {"n": "text"}), ask("g", {"n": 1.5})]
    for job in mixed:
        store.put(job, done(job, {"square": 1}))
    assert export_parquet(store, tmp_path / "out.parquet") == 10
    table = parquet.read_table(tmp_path / "out.parquet")
    assert str(table.schema.field("value.square").type) == "int64"
    assert str(table.schema.field("parameters.n").type) == "string"
    assert table.num_rows == 10


def test_parquet_without_pyarrow_says_what_to_install(store, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        MissingExtra, match=r"needs pyarrow, which is not installed .*pip install pyarrow, or export CSV"
    ):
        export_parquet(store, tmp_path / "out.parquet")
