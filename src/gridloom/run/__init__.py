"""Running independent jobs: executor, store and resume. Knows nothing of graphs and arrays.

jobs = (ask(measure, {"size": n}) for n in range(10_000))
with Store("results.sqlite") as store:
    run_stored(measure, jobs, store)          # killed? call it again
"""

from gridloom.run.executor import ExecutorSpec, InlineExecutor, Run, completed, open_executor, run_jobs
from gridloom.run.export import export_csv, export_parquet
from gridloom.run.job import Job, JobError, Outcome, RunError, ask, canonical_json, in_order
from gridloom.run.progress import Progress, ProgressCallback, ProgressMeter
from gridloom.run.resume import StoredRun, run_stored
from gridloom.run.store import Row, Store, StoreError
from gridloom.run.work import Model, Work
from gridloom.run.workers import WorkerLost, WorkerPool, usable_cores

__all__ = [
    "ExecutorSpec",
    "InlineExecutor",
    "Job",
    "JobError",
    "Model",
    "Outcome",
    "Progress",
    "ProgressCallback",
    "ProgressMeter",
    "Row",
    "Run",
    "RunError",
    "Store",
    "StoreError",
    "StoredRun",
    "Work",
    "WorkerLost",
    "WorkerPool",
    "ask",
    "canonical_json",
    "completed",
    "export_csv",
    "export_parquet",
    "in_order",
    "open_executor",
    "run_jobs",
    "run_stored",
    "usable_cores",
]
