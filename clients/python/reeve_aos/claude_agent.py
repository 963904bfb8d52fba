"""The Claude Agent SDK: every tool call of an agent is asked about, Claude Code's own tools, too.

    async for message in query(prompt="…", options=guard(ClaudeAgentOptions(…), guardian)): ...
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
from typing import Any, Callable, Dict, List, Optional, Union

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher

from . import Denied, Guardian, OpenCall, Reading, Turn, User
from .adapter import Adapter, output_texts

__all__ = ["guard"]


def guard(options: Optional[ClaudeAgentOptions], guardian: Guardian, *, user: Union[str, User, None] = None) -> ClaudeAgentOptions:
    """The options, with hooks that ask about each tool call, its result, and what the user says.

    The session is the SDK's, each prompt is a turn, and an agent below is told by its type. Claude Code blocks what a
    hook of these fails at. For `user` see reeve_aos.adapter.Adapter.
    """
    given = options or ClaudeAgentOptions()
    asking = _Asking(Adapter(guardian, user=user))
    hooks: Any = {event: list(matchers) for event, matchers in (given.hooks or {}).items()}
    # A hook that takes longer is one that has failed: it must not be cut off while a person is waited for.
    wait = guardian._wait_for_approval + guardian._timeout * 2 + 30
    for event, hook in (("UserPromptSubmit", asking.said), ("PreToolUse", asking.before), ("PostToolUse", asking.after), ("PostToolUseFailure", asking.failed)):
        hooks.setdefault(event, []).append(HookMatcher(hooks=[hook], timeout=wait, on_failure="block"))
    return dataclasses.replace(given, hooks=hooks)


class _Asking:
    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._calls: Dict[str, OpenCall] = {}
        self._ended: Dict[str, str] = {}  # sessions that read what they may not, and why

    def _turn(self, told: Any) -> Turn:
        below = told.get("agent_type") or told.get("agent_id") if told.get("agent_id") else None
        return self._adapter.turn(told["session_id"], told.get("prompt_id"), below)

    async def said(self, told: Any, _: Any, __: Any) -> Any:
        if not self._adapter.tells_messages:
            return {}
        try:
            left = await asyncio.to_thread(self._turn(told).user_message, told["prompt"])
        except Exception as error:
            return {"decision": "block", "reason": str(error)}
        if left.content != told["prompt"]:  # which Claude Code lets nobody do
            return {"decision": "block", "reason": f"{left.message} The prompt could pass as: {left.content}"}
        return {}

    async def before(self, told: Any, id: Any, _: Any) -> Any:
        ended = self._ended.get(told["session_id"])
        if ended is not None:
            return {"continue_": False, "stopReason": ended, **_decided("deny", ended)}
        try:
            call = await asyncio.to_thread(self._turn(told).begin, told["tool_name"], told["tool_input"], reading=_READING)
        except Denied as denied:
            return _decided("deny", str(denied))
        except Exception as error:
            return {"continue_": False, "stopReason": str(error), **_decided("deny", str(error))}
        self._calls[told["tool_use_id"]] = call
        if call.inputs == told["tool_input"]:
            return {}  # what else may stop the call still does
        return _decided("allow", "The policy changed the call.", updatedInput=call.inputs)

    async def after(self, told: Any, _: Any, __: Any) -> Any:
        response = told["tool_response"]
        call = self._calls.pop(told["tool_use_id"], None)
        try:
            if call is None:
                raise RuntimeError("nobody was asked about the call")
            left = await asyncio.to_thread(call.ended, response)
        except Exception as error:
            # A result of another form would be put aside, and the whole be read.
            # One that has no text at all cannot be withheld: the run ends.
            withheld = _each_text(response, lambda text: f"The result is withheld: {error}")
            if isinstance(error, Denied) and withheld != response:
                return _replaced(withheld)
            return {"continue_": False, "stopReason": str(error), **_replaced(withheld)}
        return {} if left == response else _replaced(left)

    async def failed(self, told: Any, _: Any, __: Any) -> Any:
        call = self._calls.pop(told["tool_use_id"], None)
        if call is None:
            return {}  # it was not made: its denial, or a refusal of Claude Code's own
        try:
            if await asyncio.to_thread(call.ended, told["error"]) == told["error"]:
                return {}
            reason = "The tool's error may not be read."
        except Exception as error:
            reason = str(error)
        # Claude Code lets no hook keep an error's text from the model. What the model makes of it does not happen.
        self._ended[told["session_id"]] = reason
        return {"continue_": False, "stopReason": reason}


def _decided(decision: str, reason: str, **more: Any) -> Any:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason, **more}}


def _replaced(output: Any) -> Any:
    return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": output}}


_KINDS = ("text", "image", "audio", "resource", "resource_link", "file", "create", "update")  # of parts and results


def _each_text(value: Any, anew: Callable[[str], str]) -> Any:
    """A value of JSON with other texts. Its form is its own: Claude Code knows each tool's."""
    if isinstance(value, str):
        return anew(value)
    if isinstance(value, list):
        return [_each_text(one, anew) for one in value]
    if isinstance(value, dict):
        return {key: one if key == "type" and one in _KINDS else _each_text(one, anew) for key, one in value.items()}
    return value


def _texts(response: Any) -> List[str]:
    found: List[str] = []

    def note(text: str) -> str:
        found.append(text)
        return text

    _each_text(response, note)
    return found or output_texts(response)


def _anew(response: Any, texts: List[str]) -> Any:
    rest = iter(texts)
    left = _each_text(response, lambda _: next(rest))
    return json.loads(texts[0]) if next(rest, None) is not None else left  # of what has no text JSON was told


_READING = Reading(_texts, _anew)
