// What the compiler must know, and must refuse. This is compiled, and never run.
import { Guardian, type Denied, type Part, type Step, type Verdict } from "reeve-aos";

export async function types(guardian: Guardian): Promise<void> {
  const turn = guardian.session({ user: { id: "ada", organization: { id: "example" } } }).turn();

  const text: string = (await turn.userMessage("a text")).content;
  const parts: Part[] = (await turn.userMessage([{ kind: "text", text }])).content;
  const either: string | Part[] = (await turn.agentMessage(text as string | Part[])).content;
  const one: string = (await turn.memoryStore("one")).content;
  const list: string[] = (await turn.memoryStore(["one", "two"])).content;
  const call: Verdict<{ path: string }> = await turn.toolCallRequest("read", { path: "a" });
  const decision: "allow" | "deny" | "modify" = call.decision;
  await turn.agentTrigger("email", "a text", { id: "mail-1" });
  await turn.agentMessage("a text", { citation: [{ kind: "site", url: "https://example.com" }], reasoning: "It was asked." });

  const read = turn.guarded(async (input: { path: string }, line: number) => ({ input, line }), { name: "read" });
  const { input, line }: { input: { path: string }; line: number } = await read({ path: "a" }, 1);
  const now: number = await turn.guarded(() => 1, { name: "now" })();

  // @ts-expect-error: parts come back as parts
  const wrong: string = (await turn.userMessage(parts)).content;
  // @ts-expect-error: a user's message cites nothing
  await turn.userMessage("a text", { citation: [] });
  // @ts-expect-error: the tool wants a path, and a line
  await read({ file: "a" });
  // @ts-expect-error: a file is given by its bytes or by its address
  await turn.userMessage([{ kind: "file", file: { bytes: "", uri: "" } }]);
  // @ts-expect-error: an event has a type, and content
  await turn.agentTrigger("a text");
  // @ts-expect-error: nothing else is an agent's
  new Guardian({ agent: { identity: "helper" } });
  // @ts-expect-error: "maybe" is no choice
  new Guardian({ agent: "helper", onUnreachable: "maybe" });

  new Guardian({ agent: { name: "Helper" }, onUnreachable: (step: Step, error) => (step.method === error.method ? "allow" : "deny") });
  // @ts-expect-error: true is no choice
  new Guardian({ agent: "helper", onUnreachable: () => true });
  const pending = (denied: Denied): [boolean, readonly string[], unknown] => [denied.pending, denied.instead, denied.verdict.content];

  void [either, one, list, decision, pending, input, line, now, wrong];
}
