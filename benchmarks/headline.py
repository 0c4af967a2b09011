"""Tables of other pages from stored results, between ``<!-- results: NAME -->`` and ``<!-- end -->``."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks import records
from benchmarks.catalogue import all_claims
from benchmarks.claim import REPOSITORY, Claim, Row, Rows

#: The pages that have such a table.
PAGES = (REPOSITORY / "README.md", REPOSITORY / "docs" / "how-to" / "install.md")
#: How ``Comparison.sentence`` begins: who is compared, and how many cells are won, tied and lost.
_SENTENCE = re.compile(
    r"(?:(?P<what>[\w ]+): )?(?:No difference between `\w+` and|`\w+` is (?P<verdict>ahead|behind)(?: of)?) "
    r"(?P<rival>.*?): "
    r"(?P<wins>\d+) wins, (?P<ties>\d+) ties, (?P<losses>\d+) losses"
)


def fill_tables(text: str) -> str:
    """Return a page with its tables written anew."""
    tables = {"peers": peer_table, "install": install_table}
    return re.sub(
        r"<!-- results: (peers|install) -->\n.*?<!-- end -->",
        lambda mark: f"<!-- results: {mark[1]} -->\n{tables[mark[1]]()}\n<!-- end -->",
        text,
        flags=re.DOTALL,
    )


def peer_table() -> str:
    """Return a row for each suite of graphs on which other tools were run."""
    from benchmarks.pages import markdown

    return markdown([peer_row(claim, run) for claim, run in _shown("peers/") if claim.verdicts])


def peer_row(claim: Claim, run: records.Run) -> Row:
    """Return how many cells of a claim are mapped and verified, in which time, and how each rival compares."""
    rows: Rows = run["rows"]
    done = sum(row["status"] == "mapped" for row in rows)
    said = [rival_words(line) for line in (claim.verdicts(rows) if claim.verdicts else ())]
    return {
        "same graphs as": f"[{claim.name.partition('/')[2]}](docs/results/peers.md#{claim.name.replace('/', '')})",
        "verified": f"{done} of {len(rows)}", "CPU s": run["cpu_seconds"],
        "better : equal : worse than": "; ".join(words for words in said if words),
    }  # fmt: skip


def rival_words(sentence: str) -> str:
    """Return the counts of a comparison; bold where its interval excludes zero.

    >>> rival_words("wires: `anneal` is ahead of VPR: 18 wins, 2 ties, 4 losses, 95 % interval ...")
    '**18 : 2 : 4** VPR (wires)'
    >>> rival_words("No difference between `modulo` and RAMP: 0 wins, 4 ties, 0 losses, ...")
    '0 : 4 : 0 RAMP'
    """
    match = _SENTENCE.match(sentence)
    if not match:
        return ""
    counts = f"{match['wins']} : {match['ties']} : {match['losses']}"
    strong = f"**{counts}**" if match["verdict"] else counts
    what = f" ({match['what']})" if match["what"] else ""
    return f"{strong} {match['rival']}{what}"


def install_table() -> str:
    """Return what an installation costs."""
    from benchmarks.pages import markdown

    found = _shown("speed/install")
    if not found:
        return "Not measured: `python -m benchmarks run speed/install --quick`."
    ((_, run),) = found
    names = {"": "core: `pip install .`", "c": "with the C front end: `pip install '.[c]'`"}
    return markdown([
        {"installation": names[row["extra"]], "MB": row["MB"], "first command, CPU s": row.get("first command"),
         "later, CPU s": row.get("second command")} for row in run["rows"]
    ])  # fmt: skip


def _shown(prefix: str) -> list[tuple[Claim, records.Run]]:
    found = [(claim, records.shown_run(claim)) for name, claim in all_claims().items() if name.startswith(prefix)]
    return [(claim, shown[1]) for claim, shown in found if shown]


def make_pages() -> dict[Path, str]:
    """Return path -> text of the pages with their tables."""
    return {path: fill_tables(path.read_text(encoding="utf-8")) for path in PAGES}
