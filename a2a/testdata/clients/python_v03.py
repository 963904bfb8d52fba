"""Talks to an agent as the official Python client of A2A 0.3 does, over each binding.

It has no list of tasks, and none of push configurations. A task of the kind that
waits, ends when something is put into the box that it was given (see clients_test.go).
"""
import asyncio
import os
import uuid

import grpc
import httpx
import a2a.types as T
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory

URL, BOXES, KEY = os.environ["REEVE_URL"], os.environ["BOXES_URL"], os.environ["REEVE_KEY"]


class WithKey(grpc.aio.UnaryUnaryClientInterceptor):
    """Adds the key to calls over gRPC, for which the client has no place."""

    async def intercept_unary_unary(self, proceed, details, request):
        return await proceed(details._replace(metadata=with_key(details)), request)


class StreamWithKey(grpc.aio.UnaryStreamClientInterceptor):
    async def intercept_unary_stream(self, proceed, details, request):
        return await proceed(details._replace(metadata=with_key(details)), request)


def with_key(details):
    return grpc.aio.Metadata(*(details.metadata or ()), ("authorization", "Bearer " + KEY))


def channel(url):
    return grpc.aio.insecure_channel(url.removeprefix("http://"), interceptors=[WithKey(), StreamWithKey()])


def message(executor, **inputs):
    tasks = {"tasks": [{"id": "a", "name": "A", "schemas": {"method": executor}, "inputs": inputs}]}
    return T.Message(message_id=str(uuid.uuid4()), role=T.Role.user, parts=[T.Part(root=T.DataPart(data=tasks))])


def new_box():
    return f"{BOXES}/{uuid.uuid4()}"


async def check(card, http, transport):
    async def last(events):
        return [e async for e in events][-1]

    def client(**how):
        return ClientFactory(ClientConfig(
            httpx_client=http, supported_transports=[transport], use_client_preference=True, grpc_channel_factory=channel, **how,
        )).create(card)

    c, now, s = client(streaming=False), client(streaming=False, polling=True), client(streaming=True)
    extended = await c.get_card()
    assert extended.skills[0].examples, extended

    # send, get
    task, _ = await last(c.send_message(message("system_info_executor", resource="cpu")))
    assert task.status.state == T.TaskState.completed and task.artifacts[0].parts[0].root.data["cpu"], task
    got = await c.get_task(T.TaskQueryParams(id=task.id, history_length=1))
    assert got.artifacts == task.artifacts and len(got.history) == 1, got
    try:
        await c.get_task(T.TaskQueryParams(id=str(uuid.uuid4())))
    except Exception as e:  # each binding has its own
        assert "not found" in str(e).lower(), e
    else:
        raise AssertionError("a task that does not exist was found")

    # stream
    kinds = [type(e).__name__ async for _, e in s.send_message(message("system_info_executor"))]
    assert kinds == ["NoneType", "TaskStatusUpdateEvent", "TaskArtifactUpdateEvent", "TaskStatusUpdateEvent"], kinds

    # cancel
    task, _ = await last(now.send_message(message("rest_executor", url=new_box())))
    assert task.status.state in (T.TaskState.submitted, T.TaskState.working), task
    canceled = await c.cancel_task(T.TaskIdParams(id=task.id))
    assert canceled.status.state == T.TaskState.canceled, canceled

    # resubscribe
    box = new_box()
    dropped = aiter(s.send_message(message("rest_executor", url=box)))
    task, _ = await anext(dropped)
    await dropped.aclose()
    events = aiter(s.resubscribe(T.TaskIdParams(id=task.id)))
    again, _ = await anext(events)
    assert again.id == task.id, again
    await http.post(box)
    events = [e async for e in events]
    assert events[-2][1].artifact.name == "A" and events[-1][0].status.state == T.TaskState.completed, events

    # push
    box, told = new_box(), new_box()
    task, _ = await last(now.send_message(message("rest_executor", url=box)))
    push = T.PushNotificationConfig(id="kept", url=told, token="t-kept")
    await c.set_task_callback(T.TaskPushNotificationConfig(task_id=task.id, push_notification_config=push))
    kept = await c.get_task_callback(T.GetTaskPushNotificationConfigParams(id=task.id, push_notification_config_id="kept"))
    assert kept.push_notification_config.url == told, kept
    await http.post(box)
    while True:
        push = (await http.get(told)).json()
        assert push["token"] == "t-kept", push
        if T.Task.model_validate(push["body"]).status.state == T.TaskState.completed:
            break
    print("passed", transport.value)


async def main():
    async with httpx.AsyncClient(timeout=30, headers={"Authorization": "Bearer " + KEY}) as http:
        card = await A2ACardResolver(http, URL).get_agent_card()
        assert card.name == "reeve" and card.capabilities.push_notifications, card
        for transport in T.TransportProtocol.jsonrpc, T.TransportProtocol.http_json, T.TransportProtocol.grpc:
            await check(card, http, transport)


asyncio.run(main())
