"""docs/architecture.md, arrays.md and formats.md are true: tables follow from the code, examples are run."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path

import pytest
from tests.archs.record_tables import DOCUMENTS, PARAMETERS, RECORDS, SCHEMAS, comments, filled, schema_text, tables

from gridloom import registry
from gridloom.archs import build, check_arch, load_yaml
from gridloom.dfg import json_format as dfg_format
from gridloom.dfg.ops import DOMAINS
from gridloom.mapping import json_format as mapping_format

PAGES = ("architecture.md", "arrays.md", "formats.md")
TABLED = (
    *PAGES,
    "targets/dataflow.md",
    *sorted(f"algorithms/{path.name}" for path in (DOCUMENTS / "algorithms").glob("*.md")),
)


def text_of(page: str) -> str:
    return (DOCUMENTS / page).read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text_of(page), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", TABLED)
def test_tables_are_those_of_the_code(page: str) -> None:
    assert text_of(page) == filled(text_of(page)), "python -m tests.archs.record_tables writes them anew"


def test_every_table_is_in_a_document() -> None:
    everything = "".join(text_of(page) for page in TABLED)
    assert [name for name in tables() if f"<!-- table: {name} -->\n|" not in everything] == []


@pytest.mark.parametrize("record", [*PARAMETERS.values(), *RECORDS.values()])
def test_every_field_has_a_comment(record: type) -> None:
    assert [name for name, text in comments(record).items() if not text] == []


@pytest.mark.parametrize("name", SCHEMAS)
def test_schema_file_is_what_the_code_says(name: str) -> None:
    assert text_of(f"schemas/{name}.schema.json") == schema_text(name), (
        "python -m tests.archs.record_tables writes it anew"
    )


@pytest.mark.parametrize("page", PAGES)
def test_python_examples_give_what_they_show(page: str) -> None:
    example = doctest.DocTestParser().get_doctest("\n".join(blocks(page, "pycon")), {}, page, page, 0)
    assert example.examples
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    said: list[str] = []
    runner.run(example, out=said.append)
    assert runner.failures == 0, "".join(said)


@pytest.mark.parametrize("block", [*blocks("formats.md", "yaml"), *blocks("describing-arrays.md", "yaml")])
def test_yaml_examples_describe_sound_arrays(tmp_path: Path, block: str) -> None:
    path = tmp_path / "array.yaml"
    path.write_text(block, encoding="utf-8")
    assert check_arch(load_yaml(path)) == []


def test_every_style_of_array_has_a_yaml_example() -> None:
    families = {re.search(r"family: (\S+)", block)[1] for block in blocks("formats.md", "yaml")}  # type: ignore[index]
    assert {build(f"{f}:2x2" if f in ("mesh", "torus", "rdu") else f).style for f in families} == {
        "static", "modulo", "elastic",
    }  # fmt: skip
    assert families == {"mesh", "torus", "ramp-7", "vpcma", "streaming-engine", "rdu"}


def test_json_example_is_a_graph() -> None:
    (block,) = blocks("formats.md", "json")
    assert dfg_format.to_dict(dfg_format.loads(block)) == json.loads(block)


def explained_names(text: str) -> set[str]:
    """The names that a document explains: words of its headings, and whole code spans; `a-1` to `a-9` is a range."""
    heads = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    spans = re.findall(r"`([^`\n]+)`", text)
    ranges = re.findall(r"`([a-z-]+-)(\d+)` to `\1(\d+)`", text)
    numbered = {f"{stem}{k}" for stem, first, last in ranges for k in range(int(first), int(last) + 1)}
    return {word for head in heads for word in re.split(r"[,\s]+", head)} | set(spans) | numbered


@pytest.mark.parametrize("name", registry.names("archs"))
def test_every_family_is_explained(name: str) -> None:
    assert name in explained_names(text_of("arrays.md"))


def test_a_family_whose_name_is_part_of_a_word_is_not_explained_by_it() -> None:
    text = "# A mesh of hexagons\n`hexagonal` tiles, a hex, `hex:4x4`, `r-1` to `r-3`\n"
    assert explained_names(text) & {"mesh", "hex", "hexagon", "r-2"} == {"mesh", "r-2"}


def test_every_domain_and_format_is_explained() -> None:
    formats = text_of("formats.md")
    for domain in DOMAINS:
        assert f"| `{domain}` |" in formats
    assert f'"{mapping_format.FORMAT}"' in formats
    assert f'"{dfg_format.FORMAT}"' in formats


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", text_of(page)):
        name, _, anchor = target.partition("#")
        text = text_of(name or page)
        if anchor:
            heads = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}
