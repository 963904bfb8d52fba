"""Talks to an agent as the official Python client of A2A 1.0 does, over each binding."""
import asyncio
import sys
import uuid

import grpc
import httpx
import a2a.types as T
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory


def request(behavior):
    return T.SendMessageRequest(message=T.Message(message_id=f"{behavior}-{uuid.uuid4()}", role=T.Role.ROLE_USER, parts=[T.Part(text="hello")]))


async def check(card, http, binding):
    def client(streaming):
        return ClientFactory(ClientConfig(
            httpx_client=http, supported_protocol_bindings=[binding], streaming=streaming, grpc_channel_factory=grpc.aio.insecure_channel,
        )).create(card)

    c, s = client(False), client(True)
    async for e in c.send_message(request("tck-artifact-text")):
        task = e.task
    assert task.status.state == T.TaskState.TASK_STATE_COMPLETED and task.artifacts[0].parts[0].text, task
    assert (await c.get_task(T.GetTaskRequest(id=task.id))).id == task.id
    assert (await c.list_tasks(T.ListTasksRequest(page_size=2))).total_size >= 1
    kinds = [e.WhichOneof("payload") async for e in s.send_message(request("tck-stream-001"))]
    assert kinds == ["task", "status_update", "artifact_update", "status_update"], kinds

    async for e in c.send_message(request("tck-input-required")):
        task = e.task
    await c.create_task_push_notification_config(T.TaskPushNotificationConfig(task_id=task.id, id="p", url="http://127.0.0.1:9/x", token="t"))
    assert (await c.get_task_push_notification_config(T.GetTaskPushNotificationConfigRequest(task_id=task.id, id="p"))).url
    assert len((await c.list_task_push_notification_configs(T.ListTaskPushNotificationConfigsRequest(task_id=task.id))).configs) == 1
    await c.delete_task_push_notification_config(T.DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="p"))
    assert (await c.cancel_task(T.CancelTaskRequest(id=task.id))).status.state == T.TaskState.TASK_STATE_CANCELED

    dropped = s.send_message(request("test-resubscribe-message-id")).__aiter__()
    lasting = (await dropped.__anext__()).task.id
    await dropped.aclose()
    events = [e async for e in s.subscribe(T.SubscribeToTaskRequest(id=lasting))]
    assert events[0].WhichOneof("payload") == "task" and events[-1].status_update.status.state == T.TaskState.TASK_STATE_COMPLETED, events
    try:
        await c.get_task(T.GetTaskRequest(id=str(uuid.uuid4())))
    except Exception:
        return
    raise AssertionError("a task that does not exist was found")


async def main(url):
    async with httpx.AsyncClient(timeout=30) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        for binding in ["JSONRPC", "HTTP+JSON", "GRPC"]:
            await check(card, http, binding)
            print("ok python 1.0", binding)


asyncio.run(main(sys.argv[1]))
