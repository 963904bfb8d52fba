package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
)

// opened is the operator's way to a node, which is closed when it was opened for that.
type opened struct {
	*operator.Client
	close func() error
}

// errNotRunning is what an act that only a running node can do gets.
var errNotRunning = errors.New("no node is running")

// noRecords is the error of a command that only looks, where no node ever was: it must not
// leave a database and a key in somebody's repository. It is nil where there is something.
func noRecords(c reeve.Config) error {
	if c.Database != "" || exists(c.Data) {
		return nil
	}
	return fmt.Errorf("no node has worked here, there is no folder %s: say with --data where its records are, or start one with reeve serve", c.Data)
}

// openOperator opens the way to a node: through the socket in the data folder while the
// node runs, else to a node opened for this one command, unless it must run.
func openOperator(ctx context.Context, c reeve.Config, mustRun bool) (*opened, error) {
	running := func() error { return nil }
	if o := operator.Dial(ctx, c.Data); o != nil {
		return &opened{o, running}, nil
	}
	if mustRun {
		return nil, fmt.Errorf("%w on the data folder %s", errNotRunning, c.Data)
	}
	node, err := reeve.Open(ctx, c)
	if errors.Is(err, ledger.ErrInUse) {
		if o := operator.Dial(ctx, c.Data); o != nil { // it has begun meanwhile
			return &opened{o, running}, nil
		}
		return nil, fmt.Errorf("%w, and its socket in %s cannot be reached: run this as the node's user", err, c.Data)
	}
	if err != nil {
		return nil, err
	}
	return &opened{operator.ByUser(node.Admin()), node.Close}, nil
}

// noDatabase reports whether the database of a data folder is elsewhere, as that of a node
// on PostgreSQL is.
func noDatabase(c reeve.Config) bool {
	return c.Database == "" && exists(c.Data) && !exists(filepath.Join(c.Data, "reeve.db"))
}

// askedNode is the node that a command which reads records asks: the one of --server, or
// one that runs on the data folder and has its database elsewhere. It is nil where the
// command reads the database itself.
func askedNode(cmd *cobra.Command) (*operator.Client, error) {
	at := serverOf(cmd)
	if err := at.fit(cmd); err != nil {
		return nil, err
	}
	if at.server != "" {
		key, err := at.credential()
		if err != nil {
			return nil, err
		}
		return operator.At(at.server, key), nil
	}
	c, err := configFor(cmd, true)
	if c = orOwn(c); err != nil || !noDatabase(c) {
		return nil, err
	}
	return operator.Dial(cmd.Context(), c.Data), nil
}

// nodeHere is the node that runs on the data folder; nil where none does.
func nodeHere(cmd *cobra.Command) (*operator.Client, error) {
	c, err := config(cmd)
	if err != nil {
		return nil, err
	}
	return operator.Dial(cmd.Context(), orOwn(c).Data), nil
}
