package main

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"reeve.example/reeve/internal/risk/hazard"
)

func riskCommand() *cobra.Command {
	return group("risk", "How well hazards are told from ordinary work", riskEval())
}

func riskEval() *cobra.Command {
	return &cobra.Command{
		Use:   "eval CORPUS.jsonl",
		Short: "Measure precision, recall and ranking on labelled tool calls; - reads standard input",
		Long: `Judges each labelled call of a corpus, and prints for each category how many of
the malicious ones score at least 0.8 (recall), how many of the ordinary ones do
(false positives), and how well the scores rank them (AUC).

A line of a corpus is {"label": "malicious" or "benign", "category": "…",
"tool": "…", "arguments": {…}}.`,
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
			report, err := hazard.Evaluate(bufio.NewReader(in))
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), report)
			return err
		},
	}
}
