// Package realagents holds the tests that run the coding agents' own programs, with
// a scripted model (internal/modelserver), under the hooks as "reeve hook install"
// writes them. What an agent is held to is what its own program does, and not what its
// documentation says; docs/hooks.md has the table.
//
// Codex, Gemini CLI and OpenCode are installed by scripts/test-needs at the versions of
// internal/needs/agents, and are run by go test. Claude Code and Copilot are proprietary
// and lie in a folder outside the repository, which scripts/test-agents makes and names
// with -agents.
//
// Each run has a home of its own, and all of them a network of their own, in which there
// is only loopback.
package realagents
