// What the compiler must know, and must refuse. This is compiled, and never run.
import { Guardian, type Part, type Verdict } from "reeve-aos";

export async function types(guardian: Guardian): Promise<void> {
  const turn = guardian.session({ user: { id: "ada", organization: { id: "example" } } }).turn();

  const text: string = (await turn.message("user", "a text")).content;
  const parts: Part[] = (await turn.message("user", [{ kind: "text", text }])).content;
  const either: string | Part[] = (await turn.message("agent", text as string | Part[])).content;
  const one: string = (await turn.memoryStore("one")).content;
  const list: string[] = (await turn.memoryStore(["one", "two"])).content;
  const call: Verdict<{ path: string }> = await turn.toolCallRequest("read", { path: "a" });
  const allowed: "allow" | "modify" = call.decision;

  const read = turn.guarded(async (input: { path: string }, line: number) => ({ input, line }), { name: "read" });
  const { input, line }: { input: { path: string }; line: number } = await read({ path: "a" }, 1);
  const now: number = await turn.guarded(() => 1, { name: "now" })();

  // @ts-expect-error: parts come back as parts
  const wrong: string = (await turn.message("user", parts)).content;
  // @ts-expect-error: there is no such role
  await turn.message("assistant", "a text");
  // @ts-expect-error: the tool wants a path, and a line
  await read({ file: "a" });
  // @ts-expect-error: a file is given by its bytes or by its address
  await turn.message("user", [{ kind: "file", file: { bytes: "", uri: "" } }]);
  // @ts-expect-error: an event has a type
  await turn.agentTrigger("a text", {});
  // @ts-expect-error: an agent has an id
  new Guardian({ agent: { name: "Helper" } });
  // @ts-expect-error: "maybe" is no choice
  new Guardian({ agent: "helper", onUnreachable: "maybe" });

  void [either, one, list, allowed, input, line, now, wrong];
}
