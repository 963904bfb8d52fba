package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/secret"
)

func a2gCommand() *cobra.Command {
	var stdio bool
	var url, key string
	c := &cobra.Command{
		Use:   "a2g --stdio",
		Short: "Speak A2G over standard input and output, one JSON message a line",
		Long: `Speaks A2G over standard input and output, one JSON message a line, as a node
does over HTTP and WebSocket. By itself it decides with the policy and the ledger
in the data folder, which no running node may use; with --url it passes everything
on to that node.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !stdio {
				return errors.New("say --stdio; over HTTP and WebSocket, reeve serve speaks A2G")
			}
			cfg, err := config(cmd)
			if err != nil {
				return err
			}
			setLogger(cfg, os.Stderr)
			if url != "" {
				return bridge(cmd.Context(), url, key, cmd.InOrStdin(), cmd.OutOrStdout())
			}
			node, err := reeve.Open(cmd.Context(), cfg)
			if errors.Is(err, ledger.ErrInUse) {
				return fmt.Errorf("%w; to ask the node that runs on it, add --url ws://ADDRESS/a2g", err)
			}
			if err != nil {
				return err
			}
			return errors.Join(node.ServeA2G(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout()), node.Close())
		},
	}
	c.Flags().BoolVar(&stdio, "stdio", false, "speak over standard input and output")
	c.Flags().StringVar(&url, "url", "", "pass everything on to this node, such as ws://127.0.0.1:8080/a2g")
	c.Flags().StringVar(&key, "key", "", "reference to the API key for --url: env:NAME or file:PATH")
	settingFlags(c, "data", "database", "policy", "log-format", "keep", "redact", "a2g-secrets", "a2g-signed", "a2g-lasts", "a2g-session", "a2g-per-minute")
	return c
}

// bridge passes lines on to a node as WebSocket messages, and back.
func bridge(ctx context.Context, url, key string, in io.Reader, out io.Writer) error {
	header := http.Header{}
	if key != "" {
		text, err := secret.Read(key)
		if err != nil {
			return err
		}
		header.Set("Authorization", "Bearer "+string(text))
	}
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		return fmt.Errorf("connect to the node: %w", err)
	}
	defer conn.CloseNow()
	conn.SetReadLimit(-1) // the node is trusted to bound its answers
	// Each message that wants an answer gets one; at the end they are waited for.
	var open sync.WaitGroup
	ended := make(chan error, 1)
	go func() { ended <- answersTo(ctx, conn, out, open.Done) }()
	answered := make(chan struct{})
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if wantsAnswer(line) {
				open.Add(1)
			}
			if err := conn.Write(ctx, websocket.MessageText, line); err != nil {
				return errors.Join(err, <-ended)
			}
		}
		if err == io.EOF {
			break
		} else if err != nil {
			return err
		}
	}
	go func() { open.Wait(); close(answered) }()
	select {
	case err := <-ended:
		return err
	case <-answered:
		return nil
	}
}

func answersTo(ctx context.Context, conn *websocket.Conn, out io.Writer, answered func()) error {
	for {
		_, message, err := conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("the node's connection ended: %w", err)
		}
		message = bytes.ReplaceAll(message, []byte("\n"), []byte(" "))
		if _, err := out.Write(append(message, '\n')); err != nil {
			return err
		}
		var m struct {
			Method string `json:"method"`
		}
		if json.Unmarshal(message, &m) != nil || m.Method == "" { // a batch of answers is an array
			answered()
		}
	}
}

// wantsAnswer reports whether a message is answered: everything is but a
// notification.
func wantsAnswer(message []byte) bool {
	var m map[string]jsontext.Value
	if json.Unmarshal(message, &m) != nil {
		return true
	}
	_, id := m["id"]
	return id
}
