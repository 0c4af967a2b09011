import re
import subprocess
import sys
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "jobs.md"


def test_example_of_the_document_prints_what_it_says(tmp_path):
    text = DOCUMENT.read_text()
    example = tmp_path / "example.py"
    example.write_text(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1])
    promised = re.search(r"prints `(.*?)`, the second time\s+`(.*?)`", text).groups()
    for line in promised:
        done = subprocess.run([sys.executable, example], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout == line + "\n"
    assert len((tmp_path / "results.csv").read_text().splitlines()) == 101
