"""Results in one SQLite file: appended as they arrive, never twice, readable while a run goes on.

A row is written in one transaction, so a process killed at any moment leaves whole rows only. The file is in
write-ahead mode: readers and writers of several processes on one machine share it (write-ahead needs shared memory,
so not over a network file system; there, one client and a cluster). Claims keep two runs on one store from computing
the same job: a claim is a lease that its owner renews; one whose owner died on this machine is free at once, any
other when it expires.

Cost: about 0.3 ms per job for claim and row (``python -m benchmarks run speed/jobs``). Rows survive a killed process; a
power cut may take the last few with it, never the file.

There are two tables: ``results`` has a row for each job, with what was asked, its status and its value as JSON text;
``claims`` has a row for each job that some run is computing now. The schema version is SQLite's ``user_version``.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sqlite3
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from gridloom.errors import GridloomError, SourceError
from gridloom.run.job import Job, JobError, JobOutcome, Json, RunError, Status, canonical_json
from gridloom.text_file import check_regular

APPLICATION_ID = 0x676C6F6D  # "glom": tells our files from every other SQLite file
# How long a writer waits for another one before it gives up.
_BUSY_SECONDS = 30.0

Claim: TypeAlias = Literal["granted", "stored", "taken"]


class StoreError(GridloomError):
    """A store cannot be opened, read or written."""


def _create(connection: sqlite3.Connection) -> None:
    """Create the tables of schema version 1 and mark the file as ours."""
    connection.execute(
        """
        CREATE TABLE results (
            seq      INTEGER PRIMARY KEY,
            key      TEXT NOT NULL UNIQUE,
            asked    TEXT NOT NULL,
            status   TEXT NOT NULL CHECK (status IN ('done', 'error', 'lost')),
            value    TEXT,
            error    TEXT,
            seconds  REAL NOT NULL,
            worker   TEXT NOT NULL,
            finished REAL NOT NULL
        )
        """
    )
    connection.execute(
        "CREATE TABLE claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL, expires REAL NOT NULL) WITHOUT ROWID"
    )
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


MIGRATIONS: list[Callable[[sqlite3.Connection], None]] = [_create]
"""``MIGRATIONS[n]`` takes a store from schema version n to n + 1, in one transaction with those after it."""


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A stored result. ``asked`` is what its key is the hash of; ``finished`` is seconds since 1970."""

    key: str
    asked: dict[str, Json]
    status: Status
    value: Json
    error: JobError | None
    seconds: float
    worker: str
    finished: float


class Store:
    """The results in the file ``path``, created if it is missing unless ``readonly``.

    Threads may share a store. Raises `StoreError` if the file is not a store of ours, is damaged, or was written by
    a newer version; an older one is brought up to date in place.
    """

    def __init__(self, path: str | os.PathLike[str], *, readonly: bool = False) -> None:
        self.path = Path(path)
        self.readonly = readonly
        # Host and process tell the living from the dead; the random part tells two stores of one process apart.
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._lock = threading.RLock()
        #: Transactions so far.
        self._begun = 0
        if readonly and not self.path.exists():
            raise StoreError("there is no such file; expected the store of a run", where=str(self.path))
        _refuse_special(self.path)
        with self._explaining():
            self._connection = self._connect(readonly=readonly)
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back this store's claims and close the file."""
        with self._lock:
            if not self.readonly:
                with contextlib.suppress(StoreError, sqlite3.ProgrammingError):
                    self.release()
            self._connection.close()

    # Writing

    def put(self, job: Job[Any], outcome: JobOutcome[Any], *, replace_failed_before: float = 0.0) -> bool:
        """Store an outcome and drop the job's claim, in one transaction; return whether it is new.

        The first result of a job stays. Only a failure older than ``replace_failed_before`` gives way to a new outcome.
        A value that JSON cannot hold is stored as the error it is.
        """
        status, value, error = _encoded(outcome)
        row = (job.key, canonical_json(job.asked), status, value, error, outcome.seconds, outcome.worker, time.time())
        with self._transaction() as connection:
            cursor = connection.execute(
                "INSERT INTO results (key, asked, status, value, error, seconds, worker, finished) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET status = excluded.status, "
                "value = excluded.value, error = excluded.error, seconds = excluded.seconds, worker = excluded.worker, "
                "finished = excluded.finished WHERE results.status <> 'done' AND results.finished < ?",
                (*row, replace_failed_before),
            )
            connection.execute("DELETE FROM claims WHERE key = ?", (job.key,))
            return cursor.rowcount > 0

    def claim(self, key: str, *, lease: float = 60.0, retry_failed_before: float = 0.0) -> Claim:
        """Try to take a job: ``granted`` to this store for ``lease`` seconds, ``stored`` already, or ``taken``.

        A failure older than ``retry_failed_before`` counts as not stored. A job that this store has claimed before is
        taken.
        """
        if self._is_stored(key, retry_failed_before):
            return "stored"
        now = time.time()
        with self._transaction() as connection:
            if self._is_stored(key, retry_failed_before):
                return "stored"
            claim = connection.execute("SELECT owner, expires FROM claims WHERE key = ?", (key,)).fetchone()
            if claim is not None and claim[1] > now and not _is_dead(claim[0]):
                return "taken"
            connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", (key, self.owner, now + lease))
            return "granted"

    def renew(self, *, lease: float = 60.0) -> None:
        """Make this store's claims last for another ``lease`` seconds from now."""
        with self._transaction() as connection:
            connection.execute("UPDATE claims SET expires = ? WHERE owner = ?", (time.time() + lease, self.owner))

    def release(self) -> None:
        """Give back this store's claims."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM claims WHERE owner = ?", (self.owner,))

    # Reading

    def __len__(self) -> int:
        return sum(self.counts().values())

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._is_stored(key, 0.0)

    def counts(self) -> dict[Status, int]:
        """Return the number of rows of each status that occurs."""
        with self._reading() as connection:
            return dict(connection.execute("SELECT status, count(*) FROM results GROUP BY status ORDER BY status"))

    def get(self, key: str) -> StoredRow | None:
        """Return the row of a job, or None. A failed job has a row, too."""
        with self._reading() as connection:
            record = connection.execute(f"{_SELECT} WHERE key = ?", (key,)).fetchone()
        return None if record is None else _row(record, self.path)

    def rows(self) -> Iterator[StoredRow]:
        """Yield all rows as of now, ordered by key, whatever is written meanwhile. One row is in memory at a time."""
        with self.snapshot() as rows:
            yield from rows()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Callable[[], Iterator[StoredRow]]]:
        """Give a function that yields the rows ordered by key, the same rows each time it is called.

        The rows are those at the first read, on a connection of its own, so that neither this store's lock nor a
        writer is held up meanwhile. The function is valid inside the ``with`` block only.
        """
        with self._explaining():
            # A connection of its own, since a long read on the shared one would hold up the writes of other threads.
            connection = self._connect(readonly=True)
            try:
                connection.execute("BEGIN")
                yield lambda: (_row(found, self.path) for found in connection.execute(f"{_SELECT} ORDER BY key"))
            finally:
                connection.close()

    def _is_stored(self, key: str, retry_failed_before: float) -> bool:
        """Whether a job has a row that counts: a result, or a failure that is not to be retried."""
        with self._reading() as connection:
            records = connection.execute(
                "SELECT 1 FROM results WHERE key = ? AND (status = 'done' OR finished >= ?)", (key, retry_failed_before)
            )
            return records.fetchone() is not None

    # The file

    def _connect(self, *, readonly: bool) -> sqlite3.Connection:
        """Open the file, for reading only or for both."""
        mode = "ro" if readonly else "rwc"
        return sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=_BUSY_SECONDS,
            isolation_level=None,  # transactions are begun by hand: the driver's own begin too late to lock out others
            check_same_thread=False,
        )

    def _prepare(self) -> None:
        """Bring the file into write-ahead mode and its schema up to date."""
        if not self.readonly:
            self._write_ahead()
            self._connection.execute("PRAGMA synchronous = NORMAL")
        with self._snapshot():
            version = self._checked_version()
        if version == len(MIGRATIONS):
            return
        if self.readonly:
            raise StoreError(f"has schema version {version}, expected {len(MIGRATIONS)}", where=str(self.path))
        with self._transaction() as connection:
            # Another process may have migrated it while this one waited for the lock.
            for migrate in MIGRATIONS[self._checked_version() :]:
                migrate(connection)
            connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    def _write_ahead(self) -> None:
        """Switch the file to write-ahead mode, and wait for others that do so at the same time."""
        # SQLite does not wait for the lock that this change needs, and two runs may create the file at once.
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL").fetchone()
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def _checked_version(self) -> int:
        """The schema version of the file. StoreError for another program's file, or one of a newer version."""
        application = self._connection.execute("PRAGMA application_id").fetchone()[0]
        version: int = self._connection.execute("PRAGMA user_version").fetchone()[0]
        tables = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application != APPLICATION_ID and (tables or application or version):
            raise StoreError(
                "is an SQLite file of another program; expected a store of gridloom's or a new file name",
                where=str(self.path),
            )
        if version > len(MIGRATIONS):
            raise StoreError(
                f"has schema version {version}, newer than this gridloom's {len(MIGRATIONS)}; upgrade gridloom or use "
                "another file",
                where=str(self.path),
            )
        return version

    @contextlib.contextmanager
    def _snapshot(self) -> Iterator[None]:
        """All reads see the file as it is at the first: another process may be creating the store meanwhile."""
        try:
            self._connection.execute("BEGIN")
            yield
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction that keeps other writers out from its start; undone by any exception.

        ``BEGIN IMMEDIATE`` takes the write lock before anything is read, so that what a claim has seen is still true
        when it is written. The counter keeps a frame that Ctrl-C interrupted from rolling back a transaction that
        began after its own.
        """
        with self._lock, self._explaining():
            # Ctrl-C may come as soon as a transaction has begun, before anyone is there to end it.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self._begun += 1
            mine = self._begun
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction and self._begun == mine:
                    self._connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """The connection for reads that need no transaction of their own."""
        with self._lock, self._explaining():
            yield self._connection

    @contextlib.contextmanager
    def _explaining(self) -> Iterator[None]:
        """Turn errors of SQLite into a StoreError that says what can be done."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise StoreError(_operational(str(error)), where=str(self.path)) from error
        except sqlite3.ProgrammingError:
            raise
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            # SQLite's own message about a damaged file may hold bytes of it.
            raise StoreError(
                f"is damaged or not a store ({error}); move it away and start again, or save what can be read with "
                f"sqlite3 {self.path} .recover | sqlite3 recovered.sqlite",
                where=str(self.path),
            ) from error


def _refuse_special(path: Path) -> None:
    """Raise StoreError where the store, or a file that SQLite keeps beside it, is a named pipe, a device or a folder.

    SQLite would wait for the other end of a pipe. A file that is missing is one that it creates.
    """
    for ending in ("", "-wal", "-shm", "-journal"):
        try:
            check_regular(path.with_name(path.name + ending) if ending else path)
        except SourceError as error:
            raise StoreError(error.message, where=error.where) from None
        except (OSError, ValueError):
            continue


_SELECT = "SELECT key, asked, status, value, error, seconds, worker, finished FROM results"


def _row(found: tuple[Any, ...], path: Path) -> StoredRow:
    """The record of a row of the table; StoreError for one that is damaged."""
    key, asked, status, value, error, seconds, worker, finished = found
    try:
        return StoredRow(
            key,
            json.loads(asked),
            status,
            None if value is None else json.loads(value),
            None if error is None else JobError(**json.loads(error)),
            seconds,
            worker,
            finished,
        )
    except (ValueError, TypeError, RecursionError) as damage:
        raise StoreError(
            f"row {key!s:.80}: is damaged ({damage}); delete it with "
            f"sqlite3 {path} \"DELETE FROM results WHERE key = '...'\", and run again",
            where=str(path),
        ) from None


def _encoded(outcome: JobOutcome[Any]) -> tuple[Status, str | None, str | None]:
    """Status, value and error of an outcome as the table holds them.

    A value that JSON cannot hold turns the outcome into an error of type ``NotStorable``: the run goes on, and the
    row says what was wrong.
    """
    error = outcome.error
    if not outcome.failed:
        try:
            return "done", canonical_json(outcome.value), None
        except RunError as refused:
            error = JobError("NotStorable", f"the job's result cannot be stored: {refused}")
    status: Status = "lost" if outcome.status == "lost" else "error"
    return status, None, canonical_json(error or JobError("Unknown", "no error was given"))


def _operational(message: str) -> str:
    """What a message of SQLite means for the user."""
    if "locked" in message:
        return f"is locked by another process for more than {_BUSY_SECONDS:.0f} s; see who has it open (lsof)"
    if "full" in message:
        return "cannot be written, the disk is full; rows stored so far are safe: make room and run again"
    if "readonly" in message:
        return "cannot be written, the file or its folder is read-only"
    if "unable to open" in message:
        return "cannot be opened; expected a file in a folder that exists and can be written"
    return f"cannot be read or written ({message}); rows stored so far are safe"


def _is_dead(owner: str) -> bool:
    """True when the owner of a claim was a process of this machine that has ended.

    Owners on other machines cannot be asked; their claims are free when the lease ends. A process id that was given
    to another process since counts as alive, which only costs the wait for the lease.
    """
    host, pid, _ = owner.rsplit(":", 2)
    if host != socket.gethostname() or sys.platform == "win32":
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
