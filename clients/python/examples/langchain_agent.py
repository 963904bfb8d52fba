"""A LangChain agent with guarded tools.

    pip install ./clients/python langchain langchain-openai
    reeve serve --policy clients/python/examples/policy.yaml
    python clients/python/examples/langchain_agent.py "What do we know of Ada? Then delete her."

The model is any that ChatOpenAI speaks to: OPENAI_API_KEY and OPENAI_BASE_URL say which.
"""

import os
import sys
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain.messages import ToolMessage
from langchain.tools import tool
from langchain_openai import ChatOpenAI

from reeve_aos import Denied, Guardian

guardian = Guardian(agent={"id": "office", "name": "Office helper"})


@tool
@guardian.guarded
def look_up_customer(name: str) -> dict[str, str]:
    """Looks a customer up."""
    return {"name": name, "card": "4000 0000 0000 0002"}


@tool
@guardian.guarded
def delete_customer(name: str) -> str:
    """Deletes a customer for good."""
    return f"{name} is deleted."


@wrap_tool_call
def tell_the_model(request: Any, handler: Any) -> Any:
    """Lets the model read why a call was denied, and what to do instead."""
    try:
        return handler(request)
    except Denied as denied:
        return ToolMessage(str(denied), tool_call_id=request.tool_call["id"], status="error")


def main(question: str) -> str:
    model = ChatOpenAI(model=os.environ.get("OPENAI_MODEL", "gpt-5-mini"))
    agent = create_agent(model, [look_up_customer, delete_customer], middleware=[tell_the_model])
    with guardian.session(user="bo") as session, session.turn() as turn:
        question = turn.user_message(question).content
        state = agent.invoke({"messages": [{"role": "user", "content": question}]})
        return turn.agent_message(state["messages"][-1].text).content


if __name__ == "__main__":
    print(main(sys.argv[1]))
