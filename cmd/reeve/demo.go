package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/act"
	"reeve.example/reeve/demo"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
)

func demoCommand() *cobra.Command {
	var url, key, dir string
	var pause time.Duration
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch an agent being held to a policy, and verify the proof",
		Long: `Starts a node of its own in a temporary folder, lets a small real agent work against it
in a world full of dangers, and shows each step with its verdict and reason. At the end
the ledger is verified and a receipt is checked. With --url it uses a running node.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, out := cmd.Context(), cmd.OutOrStdout()
			o := demo.Options{URL: url, Key: key, Out: out, Color: demo.Colored(out), Dir: dir, Pause: pause}
			if url == "" {
				base, err := os.MkdirTemp("", "reeve-demo-")
				if err != nil {
					return err
				}
				defer os.RemoveAll(base)
				if o.Dir == "" {
					o.Dir = filepath.Join(base, "world")
				}
				stop, err := demoNode(ctx, base, &o)
				if err != nil {
					return err
				}
				defer stop()
			}
			_, err := demo.Run(ctx, o)
			return err
		},
	}
	c.Flags().StringVar(&url, "url", "", "a running node, instead of one of its own")
	c.Flags().StringVar(&key, "key", os.Getenv("REEVE_KEY"), "API key for that node; environment REEVE_KEY")
	c.Flags().StringVar(&dir, "dir", "", "an empty folder for the agent's world, to look at afterwards")
	c.Flags().DurationVar(&pause, "pause", 0, "wait after each step, such as 1s")
	return c
}

// demoNode starts a node for the demonstration and gives o what it needs of it.
func demoNode(ctx context.Context, base string, o *demo.Options) (stop func(), err error) {
	rules := filepath.Join(base, "policy")
	if err := os.Mkdir(rules, 0o700); err != nil {
		return nil, err
	}
	starter, err := policy.StarterOf(demo.Profile)
	if err != nil {
		return nil, err
	}
	for _, f := range []policy.File{{Name: policy.StarterFile, Data: starter[0].Data}, {Name: "demo.yaml", Data: demo.Policy(o.Dir)}} {
		if err := os.WriteFile(filepath.Join(rules, f.Name), f.Data, 0o600); err != nil {
			return nil, err
		}
	}
	nobody := func(string) string { return "" } // the demonstration is the same everywhere
	cfg, err := reeve.Load("", nobody, map[string]string{
		"listen": "127.0.0.1:0", "data": filepath.Join(base, "data"), "policy": rules,
	})
	if err != nil {
		return nil, err
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	node, err := reeve.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	serving, cancel := context.WithCancel(ctx)
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- node.Serve(serving, func(url string) { ready <- url }) }()
	select {
	case o.URL = <-ready:
	case err := <-ended:
		cancel()
		return nil, errors.Join(err, node.Close())
	}
	key, err := cfg.LedgerKey(0)
	if err != nil {
		cancel()
		return nil, errors.Join(err, node.Close())
	}
	o.Verify = func(ctx context.Context) (string, error) {
		store, err := reeve.OpenReader(ctx, cfg)
		if err != nil {
			return "", err
		}
		defer store.Close()
		report, err := ledger.Verify(ctx, store, ledger.VerifyOptions{TrustedKey: key})
		if err == nil && !report.OK() {
			err = errors.New(report.Problems[0].Message)
		}
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("The ledger verifies: %d records, every hash and signature agrees.", report.Size), nil
	}
	base = o.URL
	o.Receipt = func(ctx context.Context, id string) (string, error) { return checkReceipt(ctx, base, id, key) }
	return func() {
		cancel()
		<-ended
		node.Close()
	}, nil
}

// checkReceipt fetches a decision's receipt as anybody may, and checks it with
// the key alone.
func checkReceipt(ctx context.Context, url, id, key string) (string, error) {
	pos, err := act.ParsePosition(id)
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/ledger/%d/receipt/%d", url, pos.Log, pos.Index), nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the receipt could not be had: %s", resp.Status)
	}
	receipt, err := ledger.VerifyReceipt(text, key)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("The receipt of decision %s proves, offline, that it is in the ledger: %s.", receipt.Record.ID(), receipt.Record.Effect), nil
}
