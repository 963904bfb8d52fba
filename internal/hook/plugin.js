// reeve's plugin for OpenCode: each prompt, tool call and result is put before
// the guardian. What it denies is thrown, and so is everything that goes wrong:
// without a guardian nothing runs. Written by "reeve hook install opencode".
import { spawn } from "node:child_process"

const command = COMMAND
const patience = SECONDS // of one question

function ask(event) {
  return new Promise((resolve, reject) => {
    const guardian = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "pipe"] })
    let out = "", err = ""
    const late = setTimeout(() => {
      guardian.kill("SIGKILL")
      reject(new Error(`reeve gave no answer in ${patience} seconds, so nothing is allowed`))
    }, patience * 1000)
    guardian.stdout.setEncoding("utf8")
    guardian.stderr.setEncoding("utf8")
    guardian.stdout.on("data", (text) => { out += text })
    guardian.stderr.on("data", (text) => { err += text })
    guardian.stdin.on("error", () => {})
    guardian.on("error", (e) => { clearTimeout(late); reject(new Error("reeve cannot be run, so nothing is allowed: " + e.message)) })
    guardian.on("close", (code) => {
      clearTimeout(late)
      if (code !== 0) return reject(new Error(err.trim() || "reeve ended with code " + code))
      try { resolve(JSON.parse(out)) } catch { reject(new Error("reeve's answer cannot be read")) }
    })
    guardian.stdin.end(JSON.stringify(event))
  })
}

// What OpenCode writes before the text of a file of instructions.
const marker = "Instructions from: "

// The MCP servers that OpenCode has: it names their tools as if they were its own.
let servers = []
// The sessions that began another, by the other: a sub-agent's is its parent's.
const parents = new Map()

function parentOf(session) {
  let parent
  for (let n = 0; n < 32 && parents.has(session); n++) parent = session = parents.get(session)
  return parent
}

// The files of instructions that a session's model has been given, and what was answered
// about them: OpenCode puts them into each request anew.
const instructions = new Map()

export const Reeve = async ({ client, directory }) => {
  const about = (event, { sessionID, callID, tool }, more) =>
    ask({ event, sessionID, parentID: parentOf(sessionID), callID, tool, directory, servers, ...more })
  const tell = (event, session) => about(event, { sessionID: session.id }, {}).catch((e) => console.error(e.message))
  // show tells the user, and not the model, that a call waits for an answer elsewhere.
  const show = (message) => client.tui.showToast({ body: { title: "reeve", message, variant: "warning", duration: 20000 } }).catch(() => {})
  // instruction is what the model may read of one file of instructions.
  const instruction = async (sessionID, file) => {
    const [head, ...lines] = file.split("\n")
    const answered = instructions.get(sessionID) ?? new Map()
    if (!answered.has(file)) {
      if (answered.size > 100) answered.clear()
      const answer = await about("experimental.chat.system.transform", { sessionID }, { file: head.slice(marker.length), text: lines.join("\n") })
        .catch((e) => ({ deny: e.message }))
      answered.set(file, answer.deny ? `${head}\n[withheld: ${answer.deny}]\n` : file)
      instructions.set(sessionID, answered)
    }
    return answered.get(file)
  }
  return {
    config: async (config) => { servers = Object.keys(config.mcp ?? {}) },
    event: async ({ event }) => {
      const session = event.properties?.info
      if (event.type === "session.created") {
        if (session.parentID) parents.set(session.id, session.parentID)
        await tell(event.type, session)
      } else if (event.type === "session.deleted") {
        await tell(event.type, session)
        parents.delete(session.id)
        instructions.delete(session.id)
      }
    },
    "chat.message": async (input, output) => {
      // Of the texts OpenCode has made some itself: what is in the files that the prompt names.
      const texts = output.parts.filter((p) => p.type === "text")
      const text = texts.filter((p) => !p.synthetic).map((p) => p.text).join("\n")
      const reads = texts.filter((p) => p.synthetic).map((p) => p.text)
      const answer = await about("chat.message", input, { text, reads })
      if (answer.deny) throw new Error(answer.deny)
    },
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      for (const [i, text] of output.system.entries()) {
        const [own, ...files] = text.split(new RegExp(`^(?=${marker})`, "m"))
        output.system[i] = own
        for (const file of files) output.system[i] += await instruction(sessionID, file)
      }
    },
    "tool.execute.before": async (input, output) => {
      const answer = await about("tool.execute.before", input, { args: output.args })
      if (answer.user) await show(answer.user)
      if (answer.deny) throw new Error(answer.deny)
      if (answer.args) {
        for (const name of Object.keys(output.args)) delete output.args[name]
        Object.assign(output.args, answer.args)
      }
    },
    "tool.execute.after": async (input, output) => {
      // Of an MCP server's tool the result is the server's own, and not yet text. metadata is
      // for the user's eyes; what else there is may reach the model, and is judged with it.
      const { output: text, content, metadata, ...beside } = output
      const answer = await about("tool.execute.after", input, { args: input.args, output: text ?? content ?? "", beside })
      if (answer.output === undefined) return
      if (text !== undefined) output.output = answer.output
      else output.content = [{ type: "text", text: answer.output }]
      for (const name of Object.keys(beside)) delete output[name]
      if (typeof beside.title === "string") output.title = ""
    },
    "experimental.text.complete": async (input, output) => {
      await about("experimental.text.complete", input, { text: output.text }).catch((e) => console.error(e.message))
    },
  }
}
