"""Runs the snippets of the READMEs, one after the other, as a reader would."""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import re
import unittest
from typing import Any, Dict

from .support import URL

FOLDER = pathlib.Path(__file__).parent.parent

OUTPUT = r"""ran df -h
The command downloads code and runs it unseen\.
\[.*'Download the file, show it to a person, and run it after they agree\.'.*\]
There is enough\.
Green\.
allow \d+-\d+ /ledger/\d+/receipt/\d+
True
results for winter gardens
DENIED
"""


class Readme(unittest.TestCase):
    def run_snippets(self, readme: pathlib.Path, count: int) -> str:
        self.assertEqual(os.environ["REEVE_URL"], URL)
        snippets = re.findall(r"```python\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)
        self.assertEqual(len(snippets), count)
        names: Dict[str, Any] = {}
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            for snippet in snippets:
                exec(compile(snippet, str(readme), "exec"), names)
        names["guardian"].close()
        return output.getvalue()

    def test_clients(self) -> None:
        self.assertRegex(self.run_snippets(FOLDER / "README.md", 5), f"^{OUTPUT}$")

    def test_the_project(self) -> None:
        self.assertEqual(self.run_snippets(FOLDER.parent.parent / "README.md", 1), "")
