"""Talks to an agent as the official Python client of A2A 1.0 does, over each binding.

What an answer holds is checked where the client shows it. A task of the kind that
waits, ends when something is put into the box that it was given (see clients_test.go).
"""
import asyncio
import os
import uuid

import grpc
import httpx
import a2a.types as T
from a2a.client import A2ACardResolver, ClientCallContext, ClientConfig, ClientFactory
from a2a.utils.errors import TaskNotFoundError
from google.protobuf import json_format, struct_pb2

URL, BOXES, KEY = os.environ["REEVE_URL"], os.environ["BOXES_URL"], os.environ["REEVE_KEY"]


def request(executor, **inputs):
    tasks = {"tasks": [{"id": "a", "name": "A", "schemas": {"method": executor}, "inputs": inputs}]}
    data = json_format.ParseDict(tasks, struct_pb2.Value())
    return T.SendMessageRequest(message=T.Message(message_id=str(uuid.uuid4()), role=T.Role.ROLE_USER, parts=[T.Part(data=data)]))


def at_once(r):
    r.configuration.return_immediately = True
    return r


def new_box():
    return f"{BOXES}/{uuid.uuid4()}"


async def check(card, http, binding):
    async def last(events):
        return [e async for e in events][-1]

    def client(streaming):
        config = ClientConfig(httpx_client=http, supported_protocol_bindings=[binding], streaming=streaming, grpc_channel_factory=grpc.aio.insecure_channel)
        return ClientFactory(config).create(card)

    c, s = client(False), client(True)
    me = ClientCallContext(service_parameters={"authorization": "Bearer " + KEY}, timeout=30)
    extended = await c.get_extended_agent_card(T.GetExtendedAgentCardRequest(), context=me)
    assert extended.skills[0].examples, extended

    # send, get, list
    task = (await last(c.send_message(request("system_info_executor", resource="cpu"), context=me))).task
    assert task.status.state == T.TaskState.TASK_STATE_COMPLETED, task
    assert json_format.MessageToDict(task.artifacts[0].parts[0].data)["cpu"], task
    got = await c.get_task(T.GetTaskRequest(id=task.id, history_length=1), context=me)
    assert got.artifacts == task.artifacts and len(got.history) == 1, got
    listed = await c.list_tasks(T.ListTasksRequest(context_id=task.context_id), context=me)
    assert [t.id for t in listed.tasks] == [task.id] and listed.total_size == 1, listed
    try:
        await c.get_task(T.GetTaskRequest(id=str(uuid.uuid4())), context=me)
        raise AssertionError("a task that does not exist was found")
    except TaskNotFoundError:
        pass

    # stream
    kinds = [e.WhichOneof("payload") async for e in s.send_message(request("system_info_executor"), context=me)]
    assert kinds == ["task", "status_update", "artifact_update", "status_update"], kinds

    # cancel
    task = (await last(c.send_message(at_once(request("rest_executor", url=new_box())), context=me))).task
    assert task.status.state in (T.TaskState.TASK_STATE_SUBMITTED, T.TaskState.TASK_STATE_WORKING), task
    canceled = await c.cancel_task(T.CancelTaskRequest(id=task.id), context=me)
    assert canceled.status.state == T.TaskState.TASK_STATE_CANCELED, canceled

    # resubscribe
    box = new_box()
    dropped = aiter(s.send_message(request("rest_executor", url=box), context=me))
    task = (await anext(dropped)).task
    await dropped.aclose()
    events = aiter(s.subscribe(T.SubscribeToTaskRequest(id=task.id), context=me))
    assert (await anext(events)).task.id == task.id
    await http.post(box)
    events = [e async for e in events]
    assert events[-2].artifact_update.artifact.name == "A", events
    assert events[-1].status_update.status.state == T.TaskState.TASK_STATE_COMPLETED, events

    # push
    box, told = new_box(), new_box()
    task = (await last(c.send_message(at_once(request("rest_executor", url=box)), context=me))).task
    for id, url in ("kept", told), ("dropped", told + "-not"):
        await c.create_task_push_notification_config(T.TaskPushNotificationConfig(task_id=task.id, id=id, url=url, token="t-" + id), context=me)
    await c.delete_task_push_notification_config(T.DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="dropped"), context=me)
    kept = await c.get_task_push_notification_config(T.GetTaskPushNotificationConfigRequest(task_id=task.id, id="kept"), context=me)
    assert kept.url == told, kept
    configs = (await c.list_task_push_notification_configs(T.ListTaskPushNotificationConfigsRequest(task_id=task.id), context=me)).configs
    assert [p.id for p in configs] == ["kept"], configs
    await http.post(box)
    while True:
        push = (await http.get(told)).json()
        assert push["token"] == "t-kept", push
        event = json_format.ParseDict(push["body"], T.StreamResponse())
        if event.status_update.status.state == T.TaskState.TASK_STATE_COMPLETED:
            break
    await c.close()
    await s.close()
    print("passed", binding)


async def main():
    async with httpx.AsyncClient(timeout=30) as http:
        card = await A2ACardResolver(http, URL).get_agent_card()
        assert card.name == "reeve" and card.capabilities.push_notifications, card
        for binding in "JSONRPC", "HTTP+JSON", "GRPC":
            await check(card, http, binding)


asyncio.run(main())
