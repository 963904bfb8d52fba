// The official client for TypeScript: lists tools, and calls each that is named.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
const from = createRequire(process.cwd() + "/");
const load = (name) => import(pathToFileURL(from.resolve(name)));
const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js");

const [calls, ...command] = process.argv.slice(2);
const client = new Client({ name: "client", version: "1" });
await client.connect(
  command[0].startsWith("http://")
    ? new StreamableHTTPClientTransport(new URL(command[0]))
    : new StdioClientTransport({ command: command[0], args: command.slice(1) }),
);
for (const t of (await client.listTools()).tools) console.log("tool", t.name);
for (const [name, args] of JSON.parse(calls)) {
  const result = await client.callTool({ name, arguments: args });
  const said = result.content.filter((c) => c.type === "text").map((c) => c.text).join("");
  console.log(result.isError ? "failed" : "ok", name, JSON.stringify(said));
}
await client.close();
