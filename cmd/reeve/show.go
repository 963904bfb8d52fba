package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/store"
)

func ledgerShow() *cobra.Command {
	var last, log int
	c := &cobra.Command{
		Use:   "show [DECISION…]",
		Short: "Show the newest records of all logs, the newest first, or decisions with their contents",
		Long: `Shows the newest records of all logs, the newest first; or decisions, each with what lies beside
its record. With --server another node is asked, as auditor.`,
		RunE: func(cmd *cobra.Command, ids []string) error {
			positions := make([]act.Position, len(ids))
			for i, id := range ids {
				var err error
				if positions[i], err = act.ParsePosition(id); err != nil {
					return usageError{err}
				}
			}
			q, err := logQuery(log)
			if err != nil {
				return err
			}
			return looking(cmd, func(ctx context.Context, at records) error {
				w := cmd.OutOrStdout()
				switch table := at.table(ctx, cmd); {
				case len(ids) == 0 && last <= 0:
					return table.begin()
				case len(ids) == 0:
					return find(ctx, at.ask, q, last, table)
				}
				for _, pos := range positions {
					if err := at.show(ctx, pos, wantsJSON(cmd), w); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().IntVar(&last, "last", 20, "how many records")
	linesFlag(c)
	return aboutNode(oneLogFlag(c, &log))
}

func ledgerTail() *cobra.Command {
	var log int
	c := &cobra.Command{
		Use:   "tail",
		Short: "Show records as they are written, until interrupted",
		Long: `Shows the records of all logs as they are written, the ten newest first of all. Of several
nodes' records that were written at nearly the same time, a later one may come first.
With --server another node is asked, as auditor; a connection that is lost is made again.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := logQuery(log)
			if err != nil {
				return err
			}
			return looking(cmd, func(ctx context.Context, at records) error {
				err := at.tail(ctx, q, at.table(ctx, cmd))
				if ctx.Err() != nil {
					return nil
				}
				return err
			})
		},
	}
	linesFlag(c)
	return aboutNode(oneLogFlag(c, &log))
}

// linesFlag is --json of a command that prints records: a line each, as ledger export has them.
func linesFlag(c *cobra.Command) {
	c.Flags().Bool("json", false, "print JSON, a record in each line, as ledger export does")
}

// logQuery asks for the records of one log, or where it is negative of all.
func logQuery(log int) (q ledger.Query, err error) {
	if log > math.MaxUint32 {
		return q, usageError{fmt.Errorf("--log: there is no log %d", log)}
	}
	if log >= 0 {
		q.Logs = []uint32{uint32(log)}
	}
	return q, nil
}

// records is where show and tail read: the command's own database, or a node elsewhere.
type records struct {
	ask decisionsFunc
	// export is a record as ledger export has it: one line of JSON.
	export func(ctx context.Context, pos act.Position, contents bool) ([]byte, error)
	// follow calls f with each record that is written from now on. begun is called once it
	// misses none; again, where it may have missed some meanwhile.
	follow func(ctx context.Context, q ledger.Query, begun func() error, f func(l *ledger.Line) error) error
}

// looking runs f with the records of the node of --server, or of the command's database.
func looking(cmd *cobra.Command, f func(ctx context.Context, at records) error) error {
	node, err := askedNode(cmd)
	if err != nil {
		return err
	}
	if node == nil {
		return reading(cmd, func(ctx context.Context, _ reeve.Config, store store.Store) error { return f(ctx, recordsIn(store)) })
	}
	return f(cmd.Context(), recordsAt(node, cmd.ErrOrStderr()))
}

// recordsIn are those of a database that is open.
func recordsIn(store store.Store) records {
	return records{
		ask: func(ctx context.Context, q ledger.Query) (ledger.Answer, error) { return ledger.Search(ctx, store, q) },
		export: func(ctx context.Context, pos act.Position, contents bool) ([]byte, error) {
			if _, _, err := ledger.ReadRecord(ctx, store, pos); errors.Is(err, ledger.ErrNotFound) {
				return nil, fmt.Errorf("there is no decision %s", pos)
			} else if err != nil {
				return nil, err
			}
			var line bytes.Buffer
			err := ledger.Export(ctx, store, ledger.Range{Log: pos.Log, From: pos.Index, To: pos.Index + 1}, contents, &line)
			return line.Bytes(), err
		},
		follow: func(ctx context.Context, q ledger.Query, begun func() error, f func(l *ledger.Line) error) error {
			ends, err := ledger.Ends(ctx, store)
			if err == nil {
				err = begun()
			}
			if err != nil {
				return err
			}
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			var tail ledger.Tail
			go func() { // another process writes, and tells this one nothing
				tick := time.NewTicker(250 * time.Millisecond)
				defer tick.Stop()
				for {
					select {
					case <-ctx.Done():
						return
					case <-tick.C:
						tail.Wake()
					}
				}
			}()
			return tail.Follow(ctx, store, q, ends, func(l *ledger.Line, _ ledger.Places) error { return f(l) })
		},
	}
}

// recordsAt are those of a node elsewhere. What becomes of the connection is told.
func recordsAt(node *operator.Client, told io.Writer) records {
	return records{
		ask: func(ctx context.Context, q ledger.Query) (a ledger.Answer, err error) {
			err = node.Ask(ctx, "GET", "/api/v1/decisions?"+operator.Params(q).Encode(), nil, &a)
			return a, err
		},
		export: func(ctx context.Context, pos act.Position, contents bool) ([]byte, error) {
			line, err := node.Text(ctx, "/decisions/"+pos.String())
			if err != nil {
				return nil, err
			}
			r, err := readExported(line)
			if err != nil {
				return nil, errors.New("the answer is not in the form of a reeve node of this version")
			}
			if contents {
				return append(bytes.TrimSpace(line), '\n'), nil
			}
			line = append(strconv.AppendQuote([]byte(`{"decision_id":`), pos.String()), `,"record":`...)
			return append(append(line, r.Record...), "}\n"...), nil
		},
		follow: func(ctx context.Context, q ledger.Query, begun func() error, f func(l *ledger.Line) error) error {
			return node.Follow(ctx, q, begun, func(err error) {
				fmt.Fprintf(told, "the connection was lost, and is made again: %s\n", printable(err.Error()))
			}, f)
		},
	}
}

// exported is a line of ledger export.
type exported struct {
	Record   jsontext.Value `json:"record"`
	Openings map[string]struct {
		Text  *string `json:"text"`
		Bytes []byte  `json:"bytes"`
	} `json:"openings"`
}

func readExported(line []byte) (r exported, err error) {
	if err = json.Unmarshal(line, &r); err == nil && len(r.Record) == 0 {
		err = errors.New("there is no record in it")
	}
	return r, err
}

func (r *exported) content(f ledger.Field) []byte {
	o := r.Openings[f.String()]
	if o.Text != nil {
		return []byte(*o.Text)
	}
	return o.Bytes
}

// show prints a decision with what lies beside its record.
func (at records) show(ctx context.Context, pos act.Position, asJSON bool, w io.Writer) error {
	line, damaged := at.export(ctx, pos, true)
	if damaged != nil && !asJSON { // the record alone may be whole
		var err error
		if line, err = at.export(ctx, pos, false); err != nil {
			return damaged
		}
	}
	switch {
	case asJSON && damaged != nil:
		return damaged
	case asJSON:
		_, err := w.Write(line)
		return err
	}
	r, err := readExported(line)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "record %s\n%s\n", pos, pretty(r.Record))
	switch {
	case damaged != nil:
		return damaged
	case r.Openings == nil:
		fmt.Fprintf(w, "\nWhat lay beside it has expired, was erased, or was never kept.\n")
	default:
		printContents(w, r.content)
	}
	return nil
}

// tail prints the ten newest records of what is asked for, and then each that is written.
func (at records) tail(ctx context.Context, q ledger.Query, table *recordTable) error {
	const before = 10
	if err := table.begin(); err != nil {
		return err
	}
	var newest time.Time
	shown := map[string]bool{} // of what was read at once: a stream that began meanwhile has some of it, too
	begun := func() error {
		before, since := before, q
		if since.Since = newest; !newest.IsZero() {
			before = 0 // what was missed, all of it
		}
		var missed gathered
		if err := find(ctx, at.ask, since, before, &missed); err != nil {
			return err
		}
		had := shown
		shown = map[string]bool{}
		for i := len(missed.lines) - 1; i >= 0; i-- {
			l := &missed.lines[i]
			if shown[l.Decision] = true; had[l.Decision] {
				continue
			}
			newest = l.Time
			if err := table.add(l); err != nil {
				return err
			}
		}
		return nil
	}
	return at.follow(ctx, q, begun, func(l *ledger.Line) error {
		if shown[l.Decision] {
			return nil
		}
		return table.add(l)
	})
}

// gathered keeps what was found.
type gathered struct{ lines []ledger.Line }

func (g *gathered) begin() error                 { return nil }
func (g *gathered) add(l *ledger.Line) error     { g.lines = append(g.lines, *l); return nil }
func (g *gathered) reached(int, time.Time) error { return nil }
func (g *gathered) end(int, bool) error          { return nil }

// recordTable prints records as lines, of fixed columns: tail has no end at
// which widths would be known. With json they are JSON.
type recordTable struct {
	w    io.Writer
	json func(pos act.Position) ([]byte, error)
}

const recordColumns = "%-10s  %-23s  %-5s  %-18s  %-8s  %s\n"

// table is how a command prints records.
func (at records) table(ctx context.Context, cmd *cobra.Command) *recordTable {
	t := &recordTable{w: cmd.OutOrStdout()}
	if wantsJSON(cmd) {
		t.json = func(pos act.Position) ([]byte, error) { return at.export(ctx, pos, false) }
	}
	return t
}

func (t *recordTable) begin() error {
	if t.json != nil {
		return nil
	}
	_, err := fmt.Fprintf(t.w, recordColumns, "DECISION", "TIME", "DOOR", "KIND", "EFFECT", "RULES")
	return err
}

func (t *recordTable) add(l *ledger.Line) error {
	pos, err := act.ParsePosition(l.Decision)
	if err != nil {
		return err
	}
	if t.json != nil {
		line, err := t.json(pos)
		if err == nil {
			_, err = t.w.Write(line)
		}
		return err
	}
	rules := dash(strings.Join(l.Rules, " "))
	if codes := strings.Join(l.Codes, " "); codes != "" && codes != strings.Join(l.Rules, " ") {
		rules += " (" + codes + ")"
	}
	if l.Would != "" {
		rules += " (would " + l.Would + ")"
	}
	_, err = fmt.Fprintf(t.w, recordColumns, pos, l.Time.Local().Format("2006-01-02 15:04:05.000"), printable(l.Door), printable(l.Kind), dash(printable(l.Effect)), printable(rules))
	return err
}

func (t *recordTable) reached(int, time.Time) error { return nil }
func (t *recordTable) end(int, bool) error          { return nil }
