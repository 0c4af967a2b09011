"""``python -m benchmarks``: list, run and compare claims, and write the pages of results."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import pages, records
from benchmarks.catalogue import all_claims, find_claim
from benchmarks.claim import Claim
from benchmarks.running import ClaimError, run_claim
from gridloom.run import ExecutorSpec


def main(arguments: list[str] | None = None) -> int:
    """Do what is asked; 1 where a claim fails or leaves its tolerance."""
    asked = _parser().parse_args(arguments)
    if asked.command == "list":
        return list_claims()
    if asked.command == "pages":
        return write_pages(check=asked.check)
    chosen = [find_claim(name) for name in asked.claims] or list(all_claims().values())
    if not asked.claims and not (asked.quick or asked.all):
        raise SystemExit("name claims, or --quick for all quick ones, or --all")
    chosen = [claim for claim in chosen if (claim.quick_minutes if asked.quick else claim.minutes) is not None]
    executor = ExecutorSpec.parse(jobs=asked.jobs, cluster=asked.cluster)
    failed = skipped = 0
    cpu = 0.0
    for claim in chosen:
        missing = claim.missing()
        if missing:
            print(f"{claim.name}: skipped, needs {', '.join(missing)}")
            skipped += 1
            continue
        try:
            run = run_claim(claim, quick=asked.quick, store=asked.store, executor=executor)
        except ClaimError as error:
            print(f"{claim.name}: FAILED\n{error}")
            failed += 1
            continue
        cpu += run["cpu_seconds"]
        failed += not _settle(claim, run, asked)
        sys.stdout.flush()
    print(f"{len(chosen) - failed - skipped} of {len(chosen)} claims done, {failed} failed, {skipped} skipped: "
          f"{cpu:.0f} CPU s")  # fmt: skip
    return int(failed > 0)


def _settle(claim: Claim, run: records.Run, asked: argparse.Namespace) -> bool:
    """Store a run, or compare it with the stored one; False where it left its tolerance."""
    head = f"{claim.name}: {len(run['rows'])} rows, {run['cpu_seconds']} CPU s"
    if asked.command == "run":
        records.write_run(claim, run, quick=asked.quick)
        print(head)
        return True
    stored = records.read_runs(claim).get(records.VARIANTS[asked.quick])
    if stored is None:
        print(f"{head}: no stored run to compare with")
        return False
    found = list(records.differences(claim, stored["rows"], run["rows"]))
    print(f"{head}, stored {stored['cpu_seconds']}: {f'{len(found)} DIFFERENT' if found else 'the same'}")
    for line in found[:20]:
        print(f"  {line}")
    return not found


def list_claims() -> int:
    """Print each claim with its minutes and the date of the run that the pages show."""
    for claim in all_claims().values():
        shown = records.shown_run(claim)
        state = "not run"
        if shown:
            variant, run = shown
            state = f"{variant} {run['date']}{', stale' * records.is_stale(claim, run)}"
        minutes = " / ".join("-" if m is None else f"{m:g}" for m in (claim.quick_minutes, claim.minutes))
        print(f"{claim.name:32} {minutes:>10} min  {state:22} {claim.measures}")
    return 0


def write_pages(*, check: bool) -> int:
    """Write the pages and print the stale results; with ``check`` only say which pages differ."""
    written = pages.write_pages(check=check)
    for claim in all_claims().values():
        shown = records.shown_run(claim)
        if shown and records.is_stale(claim, shown[1]):
            print(f"stale: {claim.name} ({shown[0]}, {shown[1]['date']})")
    for path in written:
        print(f"{'differs' if check else 'written'}: {path.name}")
    return int(check and bool(written))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="all claims: minutes of the quick and the whole run, and the stored run")
    page = commands.add_parser("pages", help="write docs/results from results, and list stale results")
    page.add_argument("--check", action="store_true", help="write nothing; 1 where a page differs")
    for name, text in (("run", "measure and store"), ("compare", "measure and compare with what is stored")):
        one = commands.add_parser(name, help=text)
        one.add_argument("claims", nargs="*", metavar="CLAIM")
        one.add_argument("--quick", action="store_true", help="the quick variant; without names, of all claims")
        one.add_argument("--all", action="store_true", help="all claims")
        one.add_argument("--store", type=Path, metavar="FILE", help="keeps rows; a run that was ended goes on")
        one.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
        one.add_argument("--cluster", metavar="ADDRESS", help="a Dask scheduler, or local")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
