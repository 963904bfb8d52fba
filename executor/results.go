package executor

import "github.com/go-json-experiment/json/jsontext"

// The schemas of what this package's executors give. Every member is named: what reads a
// result by ${{ task.member }} finds here what there is.

var commandResultSchema = jsontext.Value(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["stdout", "stderr", "exit_code", "duration_seconds"],
  "properties": {
    "stdout": {"type": "string", "description": "What it wrote to standard output."},
    "stderr": {"type": "string", "description": "What it wrote to standard error."},
    "exit_code": {"type": "integer", "description": "0 in a task that completed; -1 when a signal ended it."},
    "signal": {"type": "string", "description": "The signal that ended it."},
    "timed_out": {"type": "boolean", "description": "It was ended, since its time was over."},
    "out_of_memory": {"type": "boolean", "description": "It met its limit of memory."},
    "over_disk": {"type": "string", "description": "It was ended, since it wrote so much to its directory."},
    "over_quota": {"type": "string", "description": "It was ended, since it used up something that there is only so much of."},
    "duration_seconds": {"type": "number", "description": "How long it ran."},
    "memory_peak_mb": {"type": "integer", "description": "The most memory that it had."},
    "cpu_percent": {"type": "number", "description": "How much of one processor it used, in the mean."},
    "truncated": {"type": "boolean", "description": "It wrote more than is kept."},
    "limits": {"type": "array", "items": {"type": "object"}, "description": "What held it to which limit; only where the inputs ask for it."}
  },
  "additionalProperties": false
}`)

var restResultSchema = jsontext.Value(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["status_code", "headers", "url", "elapsed_seconds"],
  "properties": {
    "status_code": {"type": "integer", "description": "The status of HTTP; below 400 in a task that completed."},
    "headers": {"type": "object", "additionalProperties": {"type": "string"}, "description": "The answer's headers, by their names in lower case."},
    "json": {"description": "The body, when it is JSON."},
    "body": {"type": "string", "description": "The body, when it is text and no JSON."},
    "body_base64": {"type": "string", "description": "The body in Base64, when it is no text."},
    "url": {"type": "string", "description": "Who answered, after redirects."},
    "elapsed_seconds": {"type": "number", "description": "How long that took."},
    "truncated": {"type": "boolean", "description": "The body is longer than is kept."}
  },
  "additionalProperties": false
}`)

var llmResultSchema = jsontext.Value(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["content", "model", "usage", "finish_reason"],
  "properties": {
    "content": {"type": "string", "description": "What the model answered."},
    "model": {"type": "string", "description": "The model that answered."},
    "usage": {
      "type": "object",
      "required": ["prompt_tokens", "completion_tokens", "total_tokens"],
      "properties": {
        "prompt_tokens": {"type": "integer"}, "completion_tokens": {"type": "integer"}, "total_tokens": {"type": "integer"},
        "estimated": {"type": "boolean", "description": "The endpoint did not say it."}
      },
      "additionalProperties": false,
      "description": "The tokens that were used."
    },
    "cost_usd": {"type": "number", "description": "What that cost, where the node knows the prices."},
    "finish_reason": {"type": "string", "description": "Why the answer ended: stop, length, content_filter, …"}
  },
  "additionalProperties": false
}`)

var mcpResultSchema = jsontext.Value(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "content": {"type": "array", "items": {"type": "object"}, "description": "What a tool gave, as MCP has it: [{type: text, text: …}]."},
    "structuredContent": {"description": "What a tool gave as a value, when it does."},
    "is_error": {"type": "boolean", "description": "Whether the tool failed; false in a task that completed."},
    "contents": {"type": "array", "items": {"type": "object"}, "description": "Of a resource: [{uri, mimeType, text or blob}]."},
    "description": {"type": "string", "description": "Of a prompt."},
    "messages": {"type": "array", "items": {"type": "object"}, "description": "Of a prompt: [{role, content}]."},
    "stderr": {"type": "string", "description": "Of a server that is a command and broke down: what it wrote."},
    "exit_code": {"type": "integer", "description": "Of such a server."},
    "signal": {"type": "string", "description": "Of such a server: what ended it."}
  },
  "additionalProperties": false
}`)

var a2aResultSchema = jsontext.Value(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["context_id", "state", "artifacts"],
  "properties": {
    "task_id": {"type": "string", "description": "The agent's task; not there when it answered with a message alone."},
    "context_id": {"type": "string", "description": "The conversation, to go on with as the input context_id."},
    "state": {"type": "string", "description": "How the agent's task ended; completed in a task that completed."},
    "artifacts": {"type": "array", "items": {"type": "object"}, "description": "What the agent made: [{artifactId, parts: [{text}]}]."},
    "message": {"type": "object", "description": "What it said last: {parts: [{text}]}."},
    "history": {"type": "array", "items": {"type": "object"}, "description": "The messages before, where the agent tells them."},
    "agent": {"type": "string", "description": "The host of the agent's URL."},
    "labels": {"type": "array", "items": {"type": "string"}, "description": "What the agent says of what it has read: tags, and foreign."}
  },
  "additionalProperties": false
}`)

var aggregateResultSchema = jsontext.Value(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["summary", "timestamp", "results", "result_count"],
  "properties": {
    "summary": {"type": "string", "description": "How many gave a result, and which did not."},
    "timestamp": {"type": "string", "description": "When they were put together."},
    "results": {"type": "object", "description": "The results by the ids of their tasks; with strategy merge, their members."},
    "result_count": {"type": "integer", "description": "How many results there are."},
    "missing": {
      "type": "array",
      "items": {"type": "object", "required": ["id", "status"], "properties": {"id": {"type": "string"}, "status": {"type": "string"}}, "additionalProperties": false},
      "description": "The tasks that did not complete."
    }
  },
  "additionalProperties": false
}`)

var systemResultSchema = jsontext.Value(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["os", "arch"],
  "properties": {
    "os": {"type": "string", "description": "The operating system: linux, darwin or windows."},
    "arch": {"type": "string", "description": "The processors' kind: amd64, arm64, …"},
    "kernel": {"type": "string", "description": "The kernel's release."},
    "hostname": {"type": "string", "description": "The machine's name."},
    "cpu": {
      "type": "object",
      "required": ["count"],
      "properties": {
        "count": {"type": "integer", "description": "Processors that the node may use."},
        "model": {"type": "string"},
        "load_average": {"type": "array", "items": {"type": "number"}, "description": "Of 1, 5 and 15 minutes."}
      },
      "additionalProperties": false,
      "description": "count, model, load_average."
    },
    "memory": {
      "type": "object",
      "properties": {
        "total": {"type": "integer"}, "available": {"type": "integer"}, "used": {"type": "integer"}, "used_percent": {"type": "number"},
        "swap_total": {"type": "integer"}, "swap_free": {"type": "integer"}
      },
      "additionalProperties": false,
      "description": "total, available, used, swap_total and swap_free in bytes, used_percent."
    },
    "disk": {
      "type": "array",
      "items": {
        "type": "object",
        "required": ["path", "total", "available", "used", "used_percent"],
        "properties": {
          "path": {"type": "string"}, "total": {"type": "integer"}, "available": {"type": "integer"}, "used": {"type": "integer"}, "used_percent": {"type": "number"}
        },
        "additionalProperties": false
      },
      "description": "Of each file system: path, total, available and used in bytes, used_percent."
    }
  },
  "additionalProperties": false
}`)
