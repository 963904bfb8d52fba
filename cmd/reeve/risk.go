package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/risk/hazard"
	"reeve.example/reeve/internal/simulation"
	"reeve.example/reeve/internal/store/sqlite"
)

func riskCommand() *cobra.Command {
	return group("risk", "How well hazards and attacks are told from ordinary work", riskEval())
}

func riskEval() *cobra.Command {
	var sessions, texts, asJSON, life bool
	var least float64
	var seed uint64
	var freeze int
	c := &cobra.Command{
		Use:   "eval FILE.jsonl",
		Short: "Measure how well calls are ranked, or what a policy stops in recorded sessions; - reads standard input",
		Long: `Judges each labelled call of a corpus, and prints for each category how many of
the malicious ones score at least 0.8 (recall), how many of the ordinary ones do (false
positives), which part of what scores so is malicious (precision), and how well the scores rank
them (AUC: the chance that a malicious call scores higher than an ordinary one; 0.5 is a coin's).
In brackets stands the interval of 95 %: few calls say little. A - is what nothing is known of. The
score says how dangerous a call looks. It is no decision: what is denied or asked about the
policy says, which --sessions plays.

A line of a corpus is {"label": "malicious" or "benign", "category": "…",
"tool": "…", "arguments": {…}}.

With --texts the file holds labelled texts, which the detectors read, those of the policy
among them: {"class": "…", "detect": "NAME", "text": "…", "holds": true or false}. It
prints in how many texts that hold something it was found, and in how many others something
was, by class. What weighs less than --least does not count.

With --sessions the file holds recorded sessions, one a line, which are played before a
guardian of their own with the policy: honest ones, and attacked ones with an agent that
obeys every order it reads. It prints in how many honest sessions a person is asked or
something is denied or changed, and in how many attacked ones the attacker's goal is
reached, by class, with intervals of 95 %. There is a person who agrees to what the user's
own calls ask, and to nothing of the attacker's. What a guardian held is left out, with its
result. Nothing is kept.

A line is {"id": "…", "class": "…", "kind": "honest" or "attacked", "steps": […]}, and a
step one of
  {"user": "what the user said"}
  {"call": "1", "tool": "…", "arguments": {…}}   "attacker": true where an injected order asks
                                                 for it, and "read": true where it only looks
  {"result": "1", "text": "what call 1 gave back"}
  {"plan": ["tools", "that the agent says it will use"]}
  {"agent": "what the agent answered"}

With --life all sessions are one agent's, played one after another on days of their own, and
its habits are learned: it prints the same by how many sessions there were before.`,
		Example: `  reeve risk eval corpus.jsonl
  reeve risk eval --texts secrets.jsonl --least 0.5
  reeve risk eval --sessions runs.jsonl --policy ./policy
  reeve risk eval --sessions runs.jsonl --life --seed 7
  reeve risk eval --sessions runs.jsonl --json | jq 'select(.reached)'`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			var in io.Reader = cmd.InOrStdin()
			if a[0] != "-" {
				f, err := os.Open(a[0])
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			switch {
			case sessions && texts:
				return usageError{errors.New("--sessions and --texts are of different files")}
			case texts:
				return measureTexts(cmd, in, least)
			case sessions && life:
				return playLife(cmd, in, asJSON, seed, freeze)
			case sessions:
				return playSessions(cmd, in, asJSON)
			}
			if asJSON {
				return usageError{errors.New("--json is for --sessions")}
			}
			report, err := hazard.Evaluate(bufio.NewReader(in))
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), report)
			return err
		},
	}
	c.Flags().BoolVar(&sessions, "sessions", false, "the file holds recorded sessions")
	c.Flags().BoolVar(&texts, "texts", false, "the file holds labelled texts")
	c.Flags().Float64Var(&least, "least", 0, "with --texts: what a finding weighs at least to count")
	c.Flags().BoolVar(&asJSON, "json", false, "with --sessions: print what became of each session, one JSON object a line")
	c.Flags().BoolVar(&life, "life", false, "with --sessions: play them as the life of one agent whose habits are learned, 20 a day")
	c.Flags().Uint64Var(&seed, "seed", 1, "with --life: which order; 0 for that of the file")
	c.Flags().IntVar(&freeze, "freeze", 0, "with --life: learn nothing more after so many sessions")
	settingFlags(c, "policy")
	return c
}

// measureTexts runs the detectors over labelled texts.
func measureTexts(cmd *cobra.Command, in io.Reader, least float64) error {
	_, set, err := policyOf(cmd, nil)
	if err != nil {
		return err
	}
	report, err := set.MeasureTexts(in, least)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(cmd.OutOrStdout(), report)
	return err
}

// playLife plays recorded sessions as the life of one agent.
func playLife(cmd *cobra.Command, in io.Reader, asJSON bool, seed uint64, freeze int) error {
	ctx := cmd.Context()
	cfg, err := config(cmd)
	if err != nil {
		return err
	}
	set, err := reeve.LoadPolicy(cfg.PolicyPath())
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "reeve-life-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	store, err := sqlite.Open(folder, sqlite.Options{Logger: slog.Default()})
	if err != nil {
		return err
	}
	defer store.Close()
	now := time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	log, err := ledger.Open(ctx, ledger.Config{Store: store, Origin: "life", Seed: make([]byte, 32), Owner: "life", Now: clock})
	if err != nil {
		return err
	}
	defer log.Close()
	g, err := guard.New(ctx, guard.Config{Log: log, Store: store, Policy: set, Now: clock})
	if err != nil {
		return err
	}
	var list []*simulation.Session
	if err := simulation.Read(in, func(s *simulation.Session) error { list = append(list, s); return nil }); err != nil {
		return err
	}
	if seed > 0 {
		list = simulation.Shuffled(list, seed)
	}
	agent := simulation.Life{Guard: g, Now: &now, Pause: 72 * time.Minute, Freeze: freeze}
	var ages simulation.Ages
	for _, s := range list {
		o, err := agent.Play(ctx, s)
		if err != nil {
			return err
		}
		ages.Add(o)
		if asJSON {
			line, err := json.Marshal(o)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s\n", line)
		}
	}
	if asJSON {
		return nil
	}
	return ages.Print(cmd.OutOrStdout())
}

// playSessions plays recorded sessions before a node of their own, which nobody else sees
// and which leaves nothing.
func playSessions(cmd *cobra.Command, in io.Reader, asJSON bool) error {
	cfg, err := config(cmd)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "reeve-sessions-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	cfg.Data, cfg.Database = filepath.Join(folder, "data"), ""
	node, err := reeve.Open(cmd.Context(), cfg)
	if err != nil {
		return err
	}
	defer node.Close()
	tally := simulation.Tally{}
	err = simulation.Read(in, func(s *simulation.Session) error {
		o, err := simulation.Play(cmd.Context(), node.Guard(), s)
		if err != nil {
			return err
		}
		tally.Add(o)
		if !asJSON {
			return nil
		}
		line, err := json.Marshal(o)
		if err == nil {
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", line)
		}
		return err
	})
	if err != nil || asJSON {
		return err
	}
	return tally.Print(cmd.OutOrStdout())
}
