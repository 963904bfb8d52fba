"""An agent of the OpenAI Agents SDK with guarded function tools.

    pip install ./clients/python openai-agents
    reeve serve --policy clients/python/examples/policy.yaml
    python clients/python/examples/openai_agents.py "What do we know of Ada? Then delete her."

The model is any with OpenAI's chat completions: OPENAI_API_KEY and OPENAI_BASE_URL say which.
"""

import asyncio
import os
import sys

from agents import Agent, OpenAIChatCompletionsModel, RunContextWrapper, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from reeve_aos import Denied, Guardian

guardian = Guardian(agent={"id": "office", "name": "Office helper"})


def tell_the_model(context: RunContextWrapper[None], error: Exception) -> str:
    """Lets the model read why a call was denied, and what to do instead."""
    if isinstance(error, Denied):
        return str(error)
    raise error


@function_tool(failure_error_function=tell_the_model)
@guardian.guarded
async def look_up_customer(name: str) -> dict[str, str]:
    """Looks a customer up."""
    return {"name": name, "card": "4000 0000 0000 0002"}


@function_tool(failure_error_function=tell_the_model)
@guardian.guarded(leave_out=["context"])
def delete_customer(context: RunContextWrapper[None], name: str) -> str:
    """Deletes a customer for good."""
    return f"{name} is deleted."


async def main(question: str) -> str:
    set_tracing_disabled(True)  # else the SDK tells OpenAI what the agent does
    model = OpenAIChatCompletionsModel(os.environ.get("OPENAI_MODEL", "gpt-5-mini"), AsyncOpenAI())
    agent = Agent(name="Office helper", model=model, tools=[look_up_customer, delete_customer])
    async with guardian.session(user="bo") as session, session.turn() as turn:
        question = (await turn.user_message(question)).content
        result = await Runner.run(agent, question)
        return (await turn.agent_message(str(result.final_output))).content


if __name__ == "__main__":
    print(asyncio.run(main(sys.argv[1])))
