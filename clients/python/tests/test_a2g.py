"""The A2G client against a real node: registration with a key, signatures, verdicts, reports."""

from __future__ import annotations

import json
import tempfile
import threading
import time
import unittest
import uuid
from pathlib import Path
from typing import Any, List

from reeve_aos import GuardianError, Unreachable
from reeve_aos.a2g import A2GClient, Refused, SigningKey

from .support import CARD, URL, answer_approval, server


def client(**settings: Any) -> A2GClient:
    return A2GClient(f"did:example:{uuid.uuid4()}", **{"url": URL + "/a2g", "timeout": 20.0, **settings})


class A2G(unittest.TestCase):
    def setUp(self) -> None:
        self.key = SigningKey.generate()
        self.client = client(signing=self.key)
        self.addCleanup(self.client.close)

    def test_registered_with_a_key(self) -> None:
        registered = self.client.register(["write_file"], name="Helper", version="1")
        self.assertTrue(registered.signed)
        self.assertEqual(registered.warning, "")
        self.assertIn("version", registered.policy)
        # Texts of any kind are signed as they are sent.
        strange = {"name": "Zoë \U0001f600 \uffee", "b\U0001f600": 1.5, "b\uffee": [1e100, -0.0, None, True], "10": 1, "9": {"z": 0, "a": "\u2028\x7f"}}
        verdict = self.client.ask("note", strange, session_id="s-1", reasoning="Because.")
        self.assertTrue(verdict.allowed, verdict)
        self.assertEqual(verdict.arguments, strange)
        self.assertRegex(verdict.decision, r"^\d+-\d+$")
        self.client.report(verdict.intent_id, result={"noted": True}, metrics={"duration_ms": 3})
        self.assertFalse(self.client.ask("note", strange, intent_id=verdict.intent_id).allowed)  # it is used
        self.assertEqual(self.client.heartbeat("fine").status, "active")

    def test_nobody_else_speaks_in_its_name(self) -> None:
        self.client.register()
        for other in (None, SigningKey.generate()):
            impostor = A2GClient(self.client.agent_did, url=URL + "/a2g", signing=other, timeout=20.0)
            self.addCleanup(impostor.close)
            verdict = impostor.ask("note", {})
            self.assertEqual((verdict.verdict, verdict.blocked_by, verdict.allowed), ("DENIED", "identity", False))
            with self.assertRaises(GuardianError):
                impostor.report(str(uuid.uuid4()))
            with self.assertRaises(GuardianError):
                impostor.register()

    def test_what_is_signed_is_what_is_judged(self) -> None:
        """A line on the way that changes an argument, or sends a message again, gets nothing."""
        self.client.register()
        sent: List[bytes] = []

        def listen(peer: Any, number: int) -> None:
            sent.append(peer.request()[1])

        with server(listen) as url:
            with self.assertRaises(Unreachable):
                A2GClient(self.client.agent_did, url=url, signing=self.key, retries=0, timeout=2.0).ask("note", {"to": "ann"})
        message = json.loads(sent[0])
        plain = client()
        self.addCleanup(plain.close)
        for change, want in (({"arguments": {"to": "eve"}}, "identity"), ({}, ""), ({"intent_id": str(uuid.uuid4())}, "identity")):
            try:
                answer = plain._wire.call("a2g/intent", {**message["params"], **change}, str(uuid.uuid4()), time.monotonic() + 20, 0)
                self.assertEqual((want, answer["verdict"]), ("", "APPROVED"))
            except GuardianError as error:
                self.assertEqual(want, error.data["blocked_by"], error)

    def test_call(self) -> None:
        self.client.register()
        ran: List[Any] = []

        def tool(**arguments: Any) -> str:
            ran.append(arguments)
            return "done"

        self.assertEqual(self.client.call("write_file", {"path": "/etc/x"}, tool), "done")
        self.assertEqual(ran.pop(), {"path": "/workspace/file"})  # as the verdict has it
        self.assertEqual(self.client.call("note", {"card": CARD}, tool), "done")
        self.assertNotIn("4000", str(ran.pop()))
        with self.assertRaises(Refused) as refused:
            self.client.call("wipe_disk", {}, tool)
        self.assertEqual(str(refused.exception), "Policy violation: Nothing is wiped here. Move it to the archive.")
        self.assertEqual(ran, [])

        def fails() -> str:
            raise KeyError("broken")

        with self.assertRaises(KeyError):
            self.client.call("note", {}, fails)

    def test_a_person_must_agree(self) -> None:
        self.client.register()
        with self.assertRaises(Refused) as refused:
            self.client.call("transfer", {"amount": 1}, lambda amount: amount)
        self.assertTrue(refused.exception.verdict.pending)
        held = self.client.ask("transfer", {"amount": 2})
        self.assertTrue(held.pending)
        threading.Timer(0.5, answer_approval, (held.raw["approval"]["id"], "approve")).start()
        while held.pending:
            held = self.client.ask("transfer", {"amount": 2}, intent_id=held.intent_id)
        self.assertTrue(held.allowed)

    def test_no_verdict_allows_nothing(self) -> None:
        for result in (
            {}, {"verdict": "APPROVED"}, {"verdict": "APPROVED", "intent_id": "other", "expires_at": "2999-01-01T00:00:00Z"},
            {"verdict": "APPROVED", "intent_id": "i"}, {"verdict": "approved", "intent_id": "i", "expires_at": "2999-01-01T00:00:00Z"},
            {"verdict": "APPROVED", "intent_id": "i", "expires_at": "2999-01-01T00:00:00Z", "modified_arguments": {}},
            {"verdict": "CONDITIONAL", "intent_id": "i", "expires_at": "2999-01-01T00:00:00Z", "modified_arguments": []},
        ):
            def answer(peer: Any, number: int, result: Any = result) -> None:
                request = json.loads(peer.request()[1])
                peer.answer(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode())

            with server(answer) as url, self.assertRaises(GuardianError, msg=result):
                A2GClient("did:example:a", url=url, timeout=5.0).ask("note", {}, intent_id="i")

        def expired(peer: Any, number: int) -> None:
            request = json.loads(peer.request()[1])
            peer.answer(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {
                "verdict": "APPROVED", "intent_id": request["params"]["intent_id"], "expires_at": "2020-01-01T00:00:00Z"}}).encode())

        with server(expired) as url, self.assertRaises(Refused):
            A2GClient("did:example:a", url=url, timeout=5.0).call("note", {}, lambda: self.fail("it ran"))

    def test_keys(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "agent.pem"
            path.write_text(self.key.pem())
            self.assertEqual(SigningKey.read(path).public_key, self.key.public_key)
        self.assertRegex(self.key.public_key, r"^ed25519:[0-9a-f]{64}$")
        self.assertNotIn("PRIVATE", repr(self.key) + repr(self.client))
