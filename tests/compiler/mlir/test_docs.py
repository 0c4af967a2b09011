"""docs/mlir.md is run."""

from __future__ import annotations

import pytest
from tests.documents import REPOSITORY, folder_with_examples, rerun, without_seconds

PAGE = REPOSITORY / "docs" / "mlir.md"


@pytest.mark.slow
def test_the_examples_of_the_document_hold():
    text = PAGE.read_text(encoding="utf-8")
    with folder_with_examples():
        assert without_seconds(rerun(text)) == without_seconds(text)
