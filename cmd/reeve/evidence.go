package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
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
			return reading(cmd, func(ctx context.Context, c reeve.Config, store store.Store) error {
				e, err := writeEvidence(ctx, c, store, q.Since, q.Until, a[0])
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
	return jsonFlag(ledgerFlags(c))
}

// writeEvidence makes the archive under another name, so that a file of this name is whole.
func writeEvidence(ctx context.Context, c reeve.Config, store store.Store, since, until time.Time, file string) (sum *evidence.Summary, err error) {
	if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s is there already; evidence overwrites nothing", file)
	}
	part, err := os.CreateTemp(filepath.Dir(file), ".evidence-*")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, part.Close(), os.Remove(part.Name()))
		}
	}()
	out := bufio.NewWriter(part)
	if sum, err = evidence.Write(ctx, out, evidence.Of{Store: store, Keys: &c, Since: since, Until: until, Made: time.Now(), Version: reeve.Version()}); err != nil {
		return nil, err
	}
	if err := errors.Join(out.Flush(), part.Sync(), part.Close()); err != nil {
		return nil, err
	}
	return sum, os.Rename(part.Name(), file)
}

// verifyEvidence checks an archive, and says what does not hold.
func verifyEvidence(file, key string, w io.Writer) error {
	err := evidence.Verify(file, key, w)
	if errors.Is(err, evidence.ErrKey) {
		return usageError{errors.New("--evidence needs --key, the log's public key, got by another way than the archive")}
	}
	return err
}
