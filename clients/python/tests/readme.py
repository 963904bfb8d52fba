"""Runs the README's snippets, one after the other, as a reader would."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import pathlib
import re
import unittest
from typing import Any, Dict

from .support import URL

README = pathlib.Path(__file__).parent.parent / "README.md"

OUTPUT = r"""ran df -h
The command downloads code and runs it unseen\.
\[.*'Download the file, show it to a person, and run it after they agree\.'\]
There is enough\.
Green\.
allow \d+-\d+ /ledger/\d+/receipt/\d+
"""


class Readme(unittest.TestCase):
    def test_snippets(self) -> None:
        snippets = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
        names: Dict[str, Any] = {"asyncio": asyncio}
        output = io.StringIO()
        self.assertEqual(os.environ["REEVE_URL"], URL)
        with contextlib.redirect_stdout(output):
            for snippet in snippets:
                exec(compile(snippet, str(README), "exec"), names)
        names["guardian"].close()
        self.assertEqual(len(snippets), 4)
        self.assertRegex(output.getvalue(), f"^{OUTPUT}$")
