"""Talks to an agent as the official Python client of A2A 0.3 does, over each binding."""
import asyncio
import sys
import uuid

import grpc
import httpx
import a2a.types as T
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory


def message(behavior):
    return T.Message(message_id=f"{behavior}-{uuid.uuid4()}", role=T.Role.user, parts=[T.Part(root=T.TextPart(text="hello"))])


async def check(card, http, transport):
    def client(streaming):
        return ClientFactory(ClientConfig(
            httpx_client=http, supported_transports=[transport], use_client_preference=True, streaming=streaming,
            grpc_channel_factory=lambda url: grpc.aio.insecure_channel(url.removeprefix("http://")),
        )).create(card)

    c, s = client(False), client(True)
    async for e in c.send_message(message("tck-artifact-text")):
        task = e[0]
    assert task.status.state == T.TaskState.completed, task
    assert (await c.get_task(T.TaskQueryParams(id=task.id))).artifacts
    kinds = [type(e[1]).__name__ async for e in s.send_message(message("tck-stream-001"))]
    assert kinds == ["NoneType", "TaskStatusUpdateEvent", "TaskArtifactUpdateEvent", "TaskStatusUpdateEvent"], kinds

    async for e in c.send_message(message("tck-input-required")):
        task = e[0]
    push = T.PushNotificationConfig(id="p", url="http://127.0.0.1:9/x", token="t")
    await c.set_task_callback(T.TaskPushNotificationConfig(task_id=task.id, push_notification_config=push))
    got = await c.get_task_callback(T.GetTaskPushNotificationConfigParams(id=task.id, push_notification_config_id="p"))
    assert got.push_notification_config.url == push.url
    assert (await c.cancel_task(T.TaskIdParams(id=task.id))).status.state == T.TaskState.canceled

    dropped = s.send_message(message("test-resubscribe-message-id")).__aiter__()
    lasting = (await dropped.__anext__())[0].id
    await dropped.aclose()
    events = [e async for e in s.resubscribe(T.TaskIdParams(id=lasting))]
    assert events[-1][0].status.state == T.TaskState.completed, events
    try:
        await c.get_task(T.TaskQueryParams(id=str(uuid.uuid4())))
    except Exception:
        return
    raise AssertionError("a task that does not exist was found")


async def main(url):
    async with httpx.AsyncClient(timeout=30) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        for transport in [T.TransportProtocol.jsonrpc, T.TransportProtocol.http_json, T.TransportProtocol.grpc]:
            await check(card, http, transport)
            print("ok python 0.3", transport.value)


asyncio.run(main(sys.argv[1]))
