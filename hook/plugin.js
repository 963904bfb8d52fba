// reeve's plugin for OpenCode: each prompt, tool call and result is put before
// the guardian. What it denies is thrown, and so is everything that goes wrong:
// without a guardian nothing runs. Written by "reeve hook install opencode".
import { spawn } from "node:child_process"

const command = COMMAND

function ask(event) {
  return new Promise((resolve, reject) => {
    const guardian = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "pipe"] })
    let out = "", err = ""
    guardian.stdout.setEncoding("utf8")
    guardian.stderr.setEncoding("utf8")
    guardian.stdout.on("data", (text) => { out += text })
    guardian.stderr.on("data", (text) => { err += text })
    guardian.stdin.on("error", () => {})
    guardian.on("error", (e) => reject(new Error("reeve cannot be run, so nothing is allowed: " + e.message)))
    guardian.on("close", (code) => {
      if (code !== 0) return reject(new Error(err.trim() || "reeve ended with code " + code))
      try { resolve(JSON.parse(out)) } catch { reject(new Error("reeve's answer cannot be read")) }
    })
    guardian.stdin.end(JSON.stringify(event))
  })
}

export const Reeve = async ({ directory }) => ({
  "chat.message": async (input, output) => {
    const text = output.parts.filter((p) => p.type === "text").map((p) => p.text).join("\n")
    const answer = await ask({ event: "chat.message", sessionID: input.sessionID, text, directory })
    if (answer.deny) throw new Error(answer.deny)
  },
  "tool.execute.before": async (input, output) => {
    const { tool, sessionID, callID } = input
    const answer = await ask({ event: "tool.execute.before", tool, sessionID, callID, args: output.args, directory })
    if (answer.deny) throw new Error(answer.deny)
    if (answer.args) {
      for (const name of Object.keys(output.args)) delete output.args[name]
      Object.assign(output.args, answer.args)
    }
  },
  "tool.execute.after": async (input, output) => {
    const { tool, sessionID, callID, args } = input
    const answer = await ask({ event: "tool.execute.after", tool, sessionID, callID, args, output: output.output ?? "", directory })
    if (answer.output !== undefined) output.output = answer.output
  },
})
