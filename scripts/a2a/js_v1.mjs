// Talks to an agent as the official JavaScript client of A2A 1.0 does, over each binding.
import { randomUUID } from 'node:crypto';
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import assert from 'node:assert';
const base = process.argv[2];
const all = [['JSONRPC', new JsonRpcTransportFactory()], ['HTTP+JSON', new RestTransportFactory()], ['GRPC', new GrpcTransportFactory()]];
for (const [name, t] of all) {
  const f = new ClientFactory({ transports: [t], preferredTransports: [name] });
  const c = await f.createFromUrl(base);
  const msg = p => ({ tenant: '', message: { messageId: p + '-' + randomUUID(), role: 1, contextId: '', taskId: '', parts: [{ content: { $case: 'text', value: 'hello' }, filename: '', mediaType: '', metadata: undefined }], extensions: [], referenceTaskIds: [], metadata: undefined }, configuration: undefined, metadata: undefined });
  let r = await c.sendMessage(msg('tck-artifact-text'));
  const task = r.task ?? r.payload?.value ?? r;
  assert.equal(task.status.state, 3, JSON.stringify(r));
  assert.equal(task.artifacts.length, 1);
  const g = await c.getTask({ tenant: '', id: task.id, historyLength: undefined });
  assert.equal(g.id, task.id);
  const l = await c.listTasks({ tenant: '', contextId: '', status: 0, pageSize: 2, pageToken: '' });
  assert(l.totalSize >= 1);
  const kinds = [];
  for await (const e of c.sendMessageStream(msg('tck-stream-001'))) kinds.push(e.payload?.$case ?? e.kind ?? JSON.stringify(e).slice(0, 80));
  assert.equal(kinds.length, 4, kinds.join());
  r = await c.sendMessage(msg('tck-input-required'));
  const w = r.task ?? r.payload?.value ?? r;
  await c.createTaskPushNotificationConfig({ tenant: '', taskId: w.id, id: 'p1', url: 'http://127.0.0.1:9/x', token: 't', authentication: undefined });
  const p = await c.getTaskPushNotificationConfig({ tenant: '', taskId: w.id, id: 'p1' });
  assert.equal(p.url, 'http://127.0.0.1:9/x');
  const pl = await c.listTaskPushNotificationConfigs?.({ tenant: '', taskId: w.id, pageSize: 10, pageToken: '' });
  await c.deleteTaskPushNotificationConfig({ tenant: '', taskId: w.id, id: 'p1' });
  const x = await c.cancelTask({ tenant: '', id: w.id, metadata: undefined });
  assert.equal(x.status.state, 5);
  let id;
  for await (const e of c.sendMessageStream(msg('test-resubscribe-message-id'))) { id = (e.payload?.value ?? e.task ?? e).id; break; }
  let last;
  for await (const e of c.resubscribeTask({ tenant: '', id })) last = e;
  const u = last.payload?.value ?? last.statusUpdate ?? last;
  assert.equal(u.status.state, 3);
  await assert.rejects(c.getTask({ tenant: '', id: randomUUID() }));
  console.log('ok js 1.0', name);
}
