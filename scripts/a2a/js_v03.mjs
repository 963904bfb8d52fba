// Talks to an agent as the official JavaScript client of A2A 0.3 does, over each binding.
import { randomUUID } from 'node:crypto';
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import assert from 'node:assert';
const base = process.argv[2];
const all = [['JSONRPC', new JsonRpcTransportFactory()], ['HTTP+JSON', new RestTransportFactory()], ['GRPC', new GrpcTransportFactory()]];
for (const [name, t] of all) {
  const card = await (await fetch(base + '/.well-known/agent-card.json')).json();
  for (const i of card.additionalInterfaces) if (i.transport === 'GRPC') i.url = i.url.replace(/^https?:\/\//, ''); // grpc-js takes no URL
  const c = await new ClientFactory({ transports: [t], preferredTransports: [name] }).createFromAgentCard(card);
  const msg = p => ({ message: { kind: 'message', messageId: p + '-' + randomUUID(), role: 'user', parts: [{ kind: 'text', text: 'hello' }] }, configuration: { blocking: true } });
  const task = await c.sendMessage(msg('tck-artifact-text'));
  assert.equal(task.status.state, 'completed', JSON.stringify(task));
  assert.equal((await c.getTask({ id: task.id })).artifacts.length, 1);
  const kinds = [];
  for await (const e of c.sendMessageStream(msg('tck-stream-001'))) kinds.push(e.kind);
  assert.equal(kinds.join(), 'task,status-update,artifact-update,status-update');
  const w = await c.sendMessage(msg('tck-input-required'));
  await c.setTaskPushNotificationConfig({ taskId: w.id, pushNotificationConfig: { id: 'p1', url: 'http://127.0.0.1:9/x', token: 't' } });
  const p = await c.getTaskPushNotificationConfig({ id: w.id, pushNotificationConfigId: 'p1' });
  assert.equal(p.pushNotificationConfig.url, 'http://127.0.0.1:9/x');
  const l = await c.listTaskPushNotificationConfig({ id: w.id });
  assert.equal(l.length, 1);
  await c.deleteTaskPushNotificationConfig({ id: w.id, pushNotificationConfigId: 'p1' });
  assert.equal((await c.cancelTask({ id: w.id })).status.state, 'canceled');
  let id, last;
  for await (const e of c.sendMessageStream(msg('test-resubscribe-message-id'))) { id = e.id; break; }
  for await (const e of c.resubscribeTask({ id })) last = e;
  assert.equal(last.status.state, 'completed');
  await assert.rejects(c.getTask({ id: randomUUID() }));
  console.log('ok js 0.3', name);
}
