"""Claims: each is complete, names modules that exist and has a page."""

from __future__ import annotations

import json

import pytest

from benchmarks import pages, records
from benchmarks.catalogue import all_claims, find_claim
from benchmarks.claim import REPOSITORY, Claim

CLAIMS = list(all_claims().values())


def test_at_least_forty_claims_have_a_quick_variant() -> None:
    quick = [claim for claim in CLAIMS if claim.quick_minutes is not None]
    assert len(quick) >= 40
    spent = [records.read_runs(claim).get("quick", {}).get("cpu_seconds", 0) for claim in quick]
    assert sum(spent) <= 25 * 60


def test_at_least_forty_of_them_need_nothing_that_is_not_installed_for_tests() -> None:
    plain = [claim for claim in CLAIMS if claim.quick_minutes and not {"torch", "published graphs"} & {*claim.needs}]
    assert len(plain) >= 40


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_a_claim_is_complete(claim: Claim) -> None:
    assert claim.suite in {path.stem for path in pages.TEMPLATES.glob("*.yaml")}
    assert claim.minutes or claim.quick_minutes
    assert claim.measures[-1] not in "."
    for name in claim.depends:
        path = REPOSITORY / "src" / "gridloom" / name.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file(), f"{claim.name} depends on {name}, which is gone"


@pytest.mark.parametrize("claim", [c for c in CLAIMS if not c.missing()], ids=lambda claim: claim.name)
def test_a_quick_variant_asks_for_no_more_than_the_whole_one_and_for_different_rows(claim: Claim) -> None:
    asked = [list(claim.ask(quick)) for quick in (True, False)]
    for questions in asked:
        texts = [json.dumps(question, sort_keys=True) for question in questions]
        assert len(set(texts)) == len(texts)
        assert len({tuple(question) for question in questions}) == 1
    assert len(asked[0]) <= len(asked[1])


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_a_stored_result_says_where_it_comes_from(claim: Claim) -> None:
    for variant, run in records.read_runs(claim).items():
        assert variant in records.VARIANTS
        assert run.keys() == {"command", "version", "date", "machine", "seeds", "cpu_seconds", "sources", "rows"}
        assert run["command"] == claim.command(variant == "quick")
        assert run["rows"]


def test_every_stored_result_belongs_to_a_claim() -> None:
    files = {claim.file for claim in CLAIMS}
    assert [path for path in (REPOSITORY / "results").rglob("*") if path.is_file() and path not in files] == []


def test_a_claim_is_found_by_its_short_name() -> None:
    assert find_claim("code-lines") is find_claim("speed/code-lines")
    with pytest.raises(SystemExit, match="no claim is called 'nothing'"):
        find_claim("nothing")
