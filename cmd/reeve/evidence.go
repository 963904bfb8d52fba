package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/internal/evidence"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/words"
)

func evidenceCommand() *cobra.Command {
	var since, until string
	c := &cobra.Command{
		Use:   "evidence FILE",
		Short: "Write one archive that proves what was decided in a time",
		Long: `Writes a ZIP archive with the records of a time, who asked for each as far as that is kept, a
proof of each, the signed checkpoints, the policies that decided, what people were asked, and a
page for people. Contents are not in it. Each proof holds against the log's public key alone, and
the same key signs what else is in the archive: 'reeve ledger verify --evidence FILE --key KEY'
checks all of it offline, and so does docs/verify_ledger.py. Give the key by another way than the
archive.`,
		Example: `  reeve evidence --since 2027-01-01 --until 2027-04-01 q1.zip
  reeve evidence --since 90d --until 1d quarter.zip --server https://reeve.example --key env:AUDITOR
  reeve ledger verify --evidence q1.zip --key "$(cat key.txt)"`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			var q ledger.Query
			for _, one := range []struct {
				flag, text string
				at         *time.Time
			}{{"--since", since, &q.Since}, {"--until", until, &q.Until}} {
				if one.text == "" {
					return usageError{errors.New("say of which time: --since and --until take a day, a time or an age")}
				}
				var err error
				if *one.at, err = operator.Moment(one.text, time.Now()); err != nil {
					return usageError{fmt.Errorf("%s: %w", one.flag, err)}
				}
			}
			if err := q.Check(); err != nil {
				return usageError{err}
			}
			node, err := askedNode(cmd)
			if err != nil {
				return err
			}
			if node != nil {
				return fetchEvidence(cmd, url.Values{"since": {q.Since.Format(time.RFC3339Nano)}, "until": {q.Until.Format(time.RFC3339Nano)}}, a[0])
			}
			return reading(cmd, func(ctx context.Context, c reeve.Config, store store.Store) error {
				var e *evidence.Summary
				err := newArchive(a[0], func(w io.Writer) (err error) {
					e, err = evidence.Write(ctx, w, evidence.Of{Store: store, Keys: &c, Since: q.Since, Until: q.Until, Made: time.Now(), Version: reeve.Version()})
					return err
				})
				if err != nil {
					return err
				}
				if wantsJSON(cmd) {
					return printJSON(cmd.OutOrStdout(), e)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, each with its proof\n", a[0], words.Count(e.Decisions, "record"))
				if e.Made.Before(e.Until) {
					fmt.Fprintln(cmd.OutOrStdout(), "The time is not over: what is decided from now on is not in it.")
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&since, "since", "", "from this day, time or age on")
	c.Flags().StringVar(&until, "until", "", "before this day, time or age; a day that is not over yet has no whole evidence")
	new(nodeFlags).add(c)
	return jsonFlag(ledgerFlags(c))
}

// fetchEvidence has a node elsewhere make the archive, which notes that it gave it out.
func fetchEvidence(cmd *cobra.Command, span url.Values, file string) error {
	return withNode(cmd, true, "/api/v1/evidence", func(c *operator.Client) error {
		size := 0
		err := newArchive(file, func(w io.Writer) error {
			text, err := c.Text(cmd.Context(), "/api/v1/evidence?"+span.Encode())
			if err != nil {
				return err
			}
			size, err = w.Write(text)
			return err
		})
		if err != nil {
			return err
		}
		if wantsJSON(cmd) {
			return printJSON(cmd.OutOrStdout(), struct {
				File  string `json:"file"`
				Bytes int    `json:"bytes"`
			}{file, size})
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: as the node made it; look at it with reeve ledger verify --evidence %s --key KEY\n", file, file)
		return nil
	})
}

// newArchive has an archive written under another name, so that a file of this name is whole.
func newArchive(file string, fill func(w io.Writer) error) (err error) {
	if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is there already; evidence overwrites nothing", file)
	}
	part, err := os.CreateTemp(filepath.Dir(file), ".evidence-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, part.Close(), os.Remove(part.Name()))
		}
	}()
	out := bufio.NewWriter(part)
	if err := fill(out); err != nil {
		return err
	}
	if err := errors.Join(out.Flush(), part.Sync(), part.Close()); err != nil {
		return err
	}
	return os.Rename(part.Name(), file)
}

// verifyEvidence checks an archive, and says what does not hold.
func verifyEvidence(file, key string, w io.Writer) error {
	err := evidence.Verify(file, key, w)
	if errors.Is(err, evidence.ErrKey) {
		return usageError{errors.New("--evidence needs --key, the log's public key, got by another way than the archive")}
	}
	return err
}
