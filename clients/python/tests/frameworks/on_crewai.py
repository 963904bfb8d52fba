"""CrewAI, with a model that writes its calls as text, and one that has calls of its own."""

from __future__ import annotations

import json
import os
from typing import Any, Callable

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false", OTEL_SDK_DISABLED="true", CREWAI_TESTING="true")

from crewai import BaseLLM
from crewai.tools import tool

from . import scenarios
from .scenarios import Script, code


class Writes(BaseLLM):
    script: Any = None

    def call(self, messages: Any, tools: Any = None, **_: Any) -> Any:
        calls, text = self.script.calls(messages)
        if calls:
            _id, name, arguments = calls[0]
            return f"Thought: I act.\nAction: {name}\nAction Input: {json.dumps(arguments)}"
        return f"Thought: I know.\nFinal Answer: {text}"

    async def acall(self, messages: Any, tools: Any = None, **more: Any) -> Any:
        return self.call(messages, tools, **more)

    def supports_function_calling(self) -> bool:
        return False


class Calls(Writes):
    def call(self, messages: Any, tools: Any = None, **_: Any) -> Any:
        calls, text = self.script.calls(messages)
        return [{"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
                for id, name, arguments in calls] or text

    def supports_function_calling(self) -> bool:
        return True


class Texts(scenarios.Scenarios):
    page = "crewai.md"
    parallel = False
    ends = False  # the framework lets a hook stop a call, and not the run
    errors_are_results = True
    kind = Writes

    def model(self, script: Script) -> Any:
        model = self.kind(model="scripted")
        model.script = script
        return model

    def tool(self, function: Callable[..., Any]) -> Any:
        return tool(function)

    def ask(self, script: Script, question: str = "Do what is to be done.") -> str:
        from crewai.hooks.dispatch import clear_all

        names = code(self.page)
        names["guardian"] = self.guardian
        clear_all()
        installed = names["install"](self.guardian)
        try:
            return str(names["answer"](question, self.model(script), self.tools()))
        finally:
            installed.remove()

    def test_turn_of_the_program(self) -> None:
        """Is what the page does."""


class Functions(Texts):
    kind = Calls
    parallel = True
