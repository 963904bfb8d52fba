// Talks to an agent as the official JavaScript client of A2A 0.3 does, over each binding.
// It has no list of tasks. A task of the kind that waits, ends when something is put
// into the box that it was given (see clients_test.go).
import assert from 'node:assert';
import { randomUUID } from 'node:crypto';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory, TaskNotFoundError } from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';

const { REEVE_URL: url, BOXES_URL: boxes, REEVE_KEY: key } = process.env;
const me = { serviceParameters: { authorization: 'Bearer ' + key } };
const newBox = () => `${boxes}/${randomUUID()}`;
const put = box => fetch(box, { method: 'POST' });

function params(executor, inputs, blocking = true) {
  const data = { tasks: [{ id: 'a', name: 'A', schemas: { method: executor }, inputs }] };
  return { message: { kind: 'message', messageId: randomUUID(), role: 'user', parts: [{ kind: 'data', data }] }, configuration: { blocking } };
}

for (const transport of [new JsonRpcTransportFactory(), new RestTransportFactory(), new GrpcTransportFactory()]) {
  const name = transport.protocolName;
  const open = await new DefaultAgentCardResolver().resolve(url);
  for (const i of open.additionalInterfaces) if (i.transport === 'GRPC') i.url = i.url.replace('http://', ''); // grpc-js takes no URL
  const c = await new ClientFactory({ transports: [transport], preferredTransports: [name] }).createFromAgentCard(open);
  const card = await c.getAgentCard(me);
  assert.equal(card.name, 'reeve');
  assert(card.skills[0].examples.length > 0, 'the extended card has examples');

  // send, get
  let task = await c.sendMessage(params('system_info_executor', { resource: 'cpu' }), me);
  assert.equal(task.status.state, 'completed', JSON.stringify(task));
  assert(task.artifacts[0].parts[0].data.cpu, JSON.stringify(task));
  const got = await c.getTask({ id: task.id, historyLength: 1 }, me);
  assert.deepEqual(got.artifacts, task.artifacts);
  assert.equal(got.history.length, 1);
  await assert.rejects(c.getTask({ id: randomUUID() }, me), e => e instanceof TaskNotFoundError || e.errorResponse?.error.code === -32001);

  // stream
  const kinds = [];
  for await (const e of c.sendMessageStream(params('system_info_executor', {}), me)) kinds.push(e.kind);
  assert.deepEqual(kinds, ['task', 'status-update', 'artifact-update', 'status-update']);

  // cancel
  task = await c.sendMessage(params('rest_executor', { url: newBox() }, false), me);
  assert(['submitted', 'working'].includes(task.status.state), JSON.stringify(task));
  assert.equal((await c.cancelTask({ id: task.id }, me)).status.state, 'canceled');

  // resubscribe
  let box = newBox();
  for await (const e of c.sendMessageStream(params('rest_executor', { url: box }), me)) { task = e; break; }
  const events = [];
  for await (const e of c.resubscribeTask({ id: task.id }, me)) {
    if (events.push(e) === 1) await put(box);
  }
  assert.equal(events[0].id, task.id);
  assert.equal(events.at(-2).artifact.name, 'A');
  assert.equal(events.at(-1).status.state, 'completed');

  // push
  box = newBox();
  const told = newBox();
  task = await c.sendMessage(params('rest_executor', { url: box }, false), me);
  for (const [id, url] of [['kept', told], ['dropped', told + '-not']]) {
    await c.setTaskPushNotificationConfig({ taskId: task.id, pushNotificationConfig: { id, url, token: 't-' + id } }, me);
  }
  await c.deleteTaskPushNotificationConfig({ id: task.id, pushNotificationConfigId: 'dropped' }, me);
  const kept = await c.getTaskPushNotificationConfig({ id: task.id, pushNotificationConfigId: 'kept' }, me);
  assert.equal(kept.pushNotificationConfig.url, told);
  const configs = await c.listTaskPushNotificationConfig({ id: task.id }, me);
  assert.deepEqual(configs.map(p => p.pushNotificationConfig.id), ['kept']);
  await put(box);
  for (;;) {
    const push = await (await fetch(told)).json();
    assert.equal(push.token, 't-kept');
    if (push.body.status.state === 'completed') break;
  }
  console.log('passed', name);
}
