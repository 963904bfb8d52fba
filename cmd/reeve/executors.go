package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/act"
	"reeve.example/reeve/executor"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/words"
)

func executorsCommand() *cobra.Command {
	return group("executors", "Executors: what can execute tasks", executorsList(), executorsShow())
}

// aboutExecutors makes a command about the executors that a node with some settings has.
func aboutExecutors(c *cobra.Command, run func(out io.Writer, list []executorInfo, a []string, asJSON bool) error) *cobra.Command {
	var asJSON bool
	at := new(nodeFlags)
	at.add(c)
	c.Flags().Lookup("server").Usage = "URL of a node, such as https://reeve.example, whose executors are meant; those of these settings when empty"
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	settingFlags(c, ownSettings...)
	c.RunE = func(cmd *cobra.Command, a []string) error {
		list, err := at.executors(cmd)
		if err != nil {
			return err
		}
		return run(cmd.OutOrStdout(), list, a, asJSON)
	}
	return c
}

// executors are those of the command's settings, or those that a node elsewhere has, as its
// agent card lists them: of the limits of each a card says nothing.
func (n *nodeFlags) executors(cmd *cobra.Command) (list []executorInfo, err error) {
	if n.server == "" {
		cfg, err := config(cmd)
		if err != nil {
			return nil, err
		}
		return executorsOf(cfg)
	}
	if given := flagsHint(cmd, append([]string{"config"}, ownSettings...)...); given != "" {
		return nil, usageError{fmt.Errorf("--server names a node that has its own settings: leave out%s", given)}
	}
	key, err := n.credential()
	if err != nil {
		return nil, err
	}
	text, err := operator.At(n.server, key).Text(cmd.Context(), "/.well-known/agent-card")
	if err != nil {
		return nil, err
	}
	var card struct {
		Skills []executorInfo `json:"skills"`
	}
	if err := json.Unmarshal(text, &card); err != nil {
		return nil, fmt.Errorf("what %s answers is no agent card of a reeve node", n.server)
	}
	for _, e := range card.Skills {
		if e.InputSchema != nil { // the other skills are the protocol's methods
			e.On, e.elsewhere = true, true
			list = append(list, e)
		}
	}
	return list, nil
}

func executorsList() *cobra.Command {
	return aboutExecutors(&cobra.Command{
		Use:   "list",
		Short: "List the executors that a node with these settings has, and those that the settings leave out",
		Long: `Lists the executors that a node with these settings has, and those that the settings
leave out. An executor of one's own is written in Go: see docs/workflows.md.`,
		Example: `  reeve executors list
  reeve executors list --server https://reeve.example --key env:REEVE_KEY
  reeve executors list --allow-commands --json`,
		Args: args(cobra.NoArgs),
	}, func(out io.Writer, list []executorInfo, _ []string, asJSON bool) error {
		if asJSON {
			return printJSON(out, list)
		}
		return listExecutors(out, list)
	})
}

func executorsShow() *cobra.Command {
	return aboutExecutors(&cobra.Command{
		Use:   "show ID",
		Short: "Show an executor: its inputs, its result, and what it may use",
		Long: `Shows what an executor takes and what it gives: the members of its inputs and of its
result, which ${{ TASK.MEMBER }} reads. With --json they are JSON Schemas.`,
		Example: `  reeve executors show rest_executor
  reeve executors show command_executor --json | jq .result_schema`,
		Args: args(cobra.ExactArgs(1)),
	}, func(out io.Writer, list []executorInfo, a []string, asJSON bool) error {
		i := slices.IndexFunc(list, func(e executorInfo) bool { return e.ID == a[0] })
		if i < 0 {
			var ids []string
			for _, e := range list {
				ids = append(ids, e.ID)
			}
			hint := ""
			if near := words.Nearest(a[0], ids, len(a[0])/2+1); near != "" {
				hint = fmt.Sprintf(": did you mean %q?", near)
			}
			return usageError{fmt.Errorf("there is no executor %q%s", a[0], hint)}
		}
		if asJSON {
			return printJSON(out, list[i])
		}
		return showExecutor(out, &list[i])
	})
}

// executorInfo is what is told of an executor.
type executorInfo struct {
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	Description  string         `json:"description"`
	Tags         []string       `json:"tags,omitempty"`
	On           bool           `json:"on"`
	Why          string         `json:"why,omitzero"` // it is off, or does less than it could
	Idempotent   bool           `json:"idempotent,omitzero"`
	Concurrent   int            `json:"concurrent,omitzero"`
	Manifest     act.Manifest   `json:"manifest,omitzero"`
	InputSchema  jsontext.Value `json:"input_schema"`
	ResultSchema jsontext.Value `json:"result_schema,omitempty"`

	literal   []string // see executor.Description
	elsewhere bool     // it is a node's that was asked
}

// executorsOf lists all executors there are, with what the settings make of them.
func executorsOf(cfg reeve.Config) (list []executorInfo, err error) {
	on, err := cfg.Executors()
	if err != nil {
		return nil, err
	}
	all := cfg
	all.AllowCommands = true
	every, err := all.Executors()
	if err != nil {
		return nil, err
	}
	for _, d := range every {
		e := executorInfo{
			ID: d.ID, Name: d.Name, Description: d.Description, Tags: d.Tags, Idempotent: d.Idempotent,
			Concurrent: d.Concurrent, Manifest: d.Manifest, InputSchema: d.InputSchema, ResultSchema: d.ResultSchema, literal: d.Literal,
		}
		if e.Concurrent == 0 {
			e.Concurrent = 64
		}
		e.On = slices.ContainsFunc(on, func(o executor.Description) bool { return o.ID == d.ID })
		e.Why = whyOf(cfg, d.ID)
		list = append(list, e)
	}
	return list, nil
}

// whyOf says which setting an executor waits for, or what it leaves out without
// one; empty for nothing.
func whyOf(cfg reeve.Config, id string) string {
	switch {
	case id == "command_executor" && !cfg.AllowCommands:
		return "needs --allow-commands"
	case id == "llm_executor" && cfg.LLM.URL == "":
		return "has no model to ask without --llm-url"
	case id == "wasm_executor" && cfg.Tasks.Modules == "":
		return "has no modules without --tasks-modules"
	case id == "mcp_executor" && !cfg.AllowCommands:
		return "servers that are commands need --allow-commands, those at private addresses --tasks-allow-private"
	case slices.Contains([]string{"rest_executor", "mcp_executor", "a2a_executor"}, id) && !cfg.Tasks.AllowPrivate:
		return "private addresses, and this machine, need --tasks-allow-private"
	}
	return ""
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func listExecutors(w io.Writer, list []executorInfo) error {
	ids := 0
	for _, e := range list {
		ids = max(ids, len(e.ID))
	}
	for _, e := range list {
		fmt.Fprintf(w, "%s  %-3s  %s\n", pad(e.ID, ids), onOff(e.On), printable(e.Description))
		if e.Why != "" {
			fmt.Fprintf(w, "%s       %s\n", strings.Repeat(" ", ids), e.Why)
		}
	}
	_, err := fmt.Fprintf(w, "\nreeve executors show ID tells what one takes and gives.\n")
	return err
}

// property is an input as its schema describes it.
type property struct {
	Type        jsontext.Value   `json:"type"`
	Description string           `json:"description"`
	Default     jsontext.Value   `json:"default"`
	Enum        []jsontext.Value `json:"enum"`
	OneOf       []property       `json:"oneOf"`
}

func showExecutor(w io.Writer, e *executorInfo) error {
	fmt.Fprintf(w, "%s\n%s\n\n", e.ID, printable(e.Description))
	state := onOff(e.On)
	if e.Why != "" {
		state += ": " + e.Why
	}
	fmt.Fprintf(w, "state     %s\n", state)
	if !e.elsewhere {
		fmt.Fprintf(w, "at once   %s on a node\n", words.Count(e.Concurrent, "task"))
		fmt.Fprintf(w, "manifest  %s, unless the policy has one for it\n", manifestText(&e.Manifest))
	}
	if e.Idempotent {
		fmt.Fprintf(w, "twice     does no more than once\n")
	}
	if err := showMembers(w, "INPUT", e.InputSchema); err != nil {
		return fmt.Errorf("the schema of its inputs: %w", err)
	}
	if e.ResultSchema == nil {
		return nil
	}
	if err := showMembers(w, "RESULT", e.ResultSchema); err != nil {
		return fmt.Errorf("the schema of its result: %w", err)
	}
	return nil
}

// showMembers prints the members that a schema names, as a table.
func showMembers(w io.Writer, what string, of jsontext.Value) error {
	var schema struct {
		Required   []string       `json:"required"`
		Properties jsontext.Value `json:"properties"`
	}
	if err := json.Unmarshal(of, &schema); err != nil {
		return err
	}
	if what != "INPUT" {
		schema.Required = nil // always there, which need not be said
	}
	rows, err := inputRows(schema.Properties, schema.Required)
	if err != nil || len(rows) == 0 {
		return err
	}
	names, types := len(what), len("TYPE")
	for _, r := range rows {
		names, types = max(names, len(r[0])), max(types, min(len(r[1]), 24))
	}
	fmt.Fprintf(w, "\n%s  %s  %s\n", pad(what, names), pad("TYPE", types), "MEANING")
	for _, r := range rows {
		if len(r[1]) > types { // too long for the column: what it means comes below
			fmt.Fprintf(w, "%s  %s\n%s  %s\n", pad(r[0], names), r[1], strings.Repeat(" ", names+2+types), r[2])
			continue
		}
		fmt.Fprintf(w, "%s  %s  %s\n", pad(r[0], names), pad(r[1], types), r[2])
	}
	return nil
}

// inputRows are the inputs in the order of the schema: name, type and meaning.
func inputRows(properties jsontext.Value, required []string) (rows [][3]string, err error) {
	if len(properties) == 0 {
		return nil, nil
	}
	d := jsontext.NewDecoder(strings.NewReader(string(properties)))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		row := [3]string{printable(name.String())}
		var p property
		if err := json.UnmarshalDecode(d, &p); err != nil {
			return nil, err
		}
		row[1], row[2] = typeOf(&p), printable(p.Description)
		switch {
		case slices.Contains(required, row[0]):
			row[2] = strings.TrimSpace("Required. " + row[2])
		case p.Default != nil:
			row[2] = strings.TrimSpace(row[2] + " Default: " + strings.Trim(string(p.Default), `"`) + ".")
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// typeOf says what values an input takes.
func typeOf(p *property) string {
	words := func(v jsontext.Value) string { return printable(strings.Trim(string(v), `"`)) }
	var parts []string
	for _, v := range p.Enum {
		parts = append(parts, words(v))
	}
	for i := range p.OneOf {
		parts = append(parts, typeOf(&p.OneOf[i]))
	}
	var list []string
	switch {
	case len(parts) > 0:
	case json.Unmarshal(p.Type, &list) == nil:
		parts = list
	case p.Type != nil:
		parts = append(parts, words(p.Type))
	default:
		parts = append(parts, "any")
	}
	return strings.Join(parts, " | ")
}

// manifestText is a manifest in a line.
func manifestText(m *act.Manifest) string {
	var parts []string
	if m.TimeoutSeconds > 0 {
		parts = append(parts, fmt.Sprintf("%d seconds", m.TimeoutSeconds))
	}
	if m.MaxMemoryMB > 0 {
		parts = append(parts, fmt.Sprintf("%d MB", m.MaxMemoryMB))
	}
	if m.MaxCPUPercent > 0 {
		parts = append(parts, fmt.Sprintf("%d %% of a CPU", m.MaxCPUPercent))
	}
	network := "no network"
	if m.NetworkAllowed {
		network = "the network"
	}
	return strings.Join(append(parts, network), ", ")
}
