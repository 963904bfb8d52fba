// Talks to an agent as the official JavaScript client of A2A 1.0 does, over each binding.
// A task of the kind that waits, ends when something is put into the box that it was
// given (see clients_test.go).
import assert from 'node:assert';
import { randomUUID } from 'node:crypto';
import { Role, StreamResponse, TaskState } from '@a2a-js/sdk';
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';

const { REEVE_URL: url, BOXES_URL: boxes, REEVE_KEY: key } = process.env;
const me = { serviceParameters: { authorization: 'Bearer ' + key } };
const newBox = () => `${boxes}/${randomUUID()}`;
const put = box => fetch(box, { method: 'POST' });

function request(executor, inputs, now) {
  const tasks = { tasks: [{ id: 'a', name: 'A', schemas: { method: executor }, inputs }] };
  return {
    tenant: '', metadata: undefined,
    configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: Boolean(now) },
    message: {
      messageId: randomUUID(), role: Role.ROLE_USER, contextId: '', taskId: '', metadata: undefined, extensions: [], referenceTaskIds: [],
      parts: [{ content: { $case: 'data', value: tasks }, filename: '', mediaType: '', metadata: undefined }],
    },
  };
}

for (const transport of [new JsonRpcTransportFactory(), new RestTransportFactory(), new GrpcTransportFactory()]) {
  const name = transport.protocolName;
  const c = await new ClientFactory({ transports: [transport], preferredTransports: [name] }).createFromUrl(url);
  assert.equal(c.protocol ?? name, name);
  const card = await c.getAgentCard(me);
  assert.equal(card.name, 'reeve');
  assert(card.skills[0].examples.length > 0, 'the extended card has examples');

  // send, get, list
  let task = await c.sendMessage(request('system_info_executor', { resource: 'cpu' }), me);
  assert.equal(task.status.state, TaskState.TASK_STATE_COMPLETED, JSON.stringify(task));
  assert(task.artifacts[0].parts[0].content.value.cpu, JSON.stringify(task));
  const got = await c.getTask({ tenant: '', id: task.id, historyLength: 1 }, me);
  assert.deepEqual(got.artifacts, task.artifacts);
  assert.equal(got.history.length, 1);
  const listed = await c.listTasks({ tenant: '', contextId: task.contextId, status: 0, pageToken: '' }, me);
  assert.deepEqual(listed.tasks.map(t => t.id), [task.id]);
  await assert.rejects(c.getTask({ tenant: '', id: randomUUID() }, me), { name: 'TaskNotFoundError' });

  // stream
  const kinds = [];
  for await (const e of c.sendMessageStream(request('system_info_executor', {}), me)) kinds.push(e.payload.$case);
  assert.deepEqual(kinds, ['task', 'statusUpdate', 'artifactUpdate', 'statusUpdate']);

  // cancel
  task = await c.sendMessage(request('rest_executor', { url: newBox() }, true), me);
  assert([TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING].includes(task.status.state), JSON.stringify(task));
  task = await c.cancelTask({ tenant: '', id: task.id, metadata: undefined }, me);
  assert.equal(task.status.state, TaskState.TASK_STATE_CANCELED);

  // resubscribe
  let box = newBox();
  for await (const e of c.sendMessageStream(request('rest_executor', { url: box }), me)) { task = e.payload.value; break; }
  const events = [];
  for await (const e of c.resubscribeTask({ tenant: '', id: task.id }, me)) {
    if (events.push(e.payload) === 1) await put(box);
  }
  assert.equal(events[0].value.id, task.id);
  assert.equal(events.at(-2).value.artifact.name, 'A');
  assert.equal(events.at(-1).value.status.state, TaskState.TASK_STATE_COMPLETED);

  // push
  box = newBox();
  const told = newBox();
  task = await c.sendMessage(request('rest_executor', { url: box }, true), me);
  for (const [id, url] of [['kept', told], ['dropped', told + '-not']]) {
    await c.createTaskPushNotificationConfig({ tenant: '', taskId: task.id, id, url, token: 't-' + id, authentication: undefined }, me);
  }
  await c.deleteTaskPushNotificationConfig({ tenant: '', taskId: task.id, id: 'dropped' }, me);
  assert.equal((await c.getTaskPushNotificationConfig({ tenant: '', taskId: task.id, id: 'kept' }, me)).url, told);
  const { configs } = await c.listTaskPushNotificationConfig({ tenant: '', taskId: task.id, pageSize: 0, pageToken: '' }, me);
  assert.deepEqual(configs.map(p => p.id), ['kept']);
  await put(box);
  for (;;) {
    const push = await (await fetch(told)).json();
    assert.equal(push.token, 't-kept');
    const { payload } = StreamResponse.fromJSON(push.body);
    if (payload.value.status?.state === TaskState.TASK_STATE_COMPLETED) break;
  }
  console.log('passed', name);
}
