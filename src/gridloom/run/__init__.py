"""Running independent jobs: executor, store and resume. Knows nothing of graphs and arrays.

jobs = (ask(measure, {"size": n}) for n in range(10_000))
with Store("results.sqlite") as store:
    run_stored(measure, jobs, store)          # killed? call it again
"""

from gridloom.run.executor import ExecutorSpec, InlineExecutor, JobRun, complete_jobs, open_executor, run_jobs
from gridloom.run.export import export_csv, export_parquet
from gridloom.run.job import Job, JobError, JobOutcome, RunError, ask, canonical_json, in_order
from gridloom.run.progress import ProgressCallback, ProgressMeter, RunProgress
from gridloom.run.resume import StoredRun, run_stored
from gridloom.run.store import Store, StoredRow, StoreError
from gridloom.run.work import Model, WorkFolder
from gridloom.run.workers import WorkerLost, WorkerPool, usable_cores

__all__ = [
    "ExecutorSpec",
    "InlineExecutor",
    "Job",
    "JobError",
    "JobOutcome",
    "JobRun",
    "Model",
    "ProgressCallback",
    "ProgressMeter",
    "RunError",
    "RunProgress",
    "Store",
    "StoreError",
    "StoredRow",
    "StoredRun",
    "WorkFolder",
    "WorkerLost",
    "WorkerPool",
    "ask",
    "canonical_json",
    "complete_jobs",
    "export_csv",
    "export_parquet",
    "in_order",
    "open_executor",
    "run_jobs",
    "run_stored",
    "usable_cores",
]
