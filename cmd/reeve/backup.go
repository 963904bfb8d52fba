package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"reeve.example/reeve/internal/datadir"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/store/sqlite"
)

func backupCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the database of a running or stopped node to a new file",
		Long: `Writes a consistent copy of the SQLite database to FILE, while the node goes on.
The ledger's seed is not in it: copy DATA/seed once, and keep it apart, since who
has both can sign as this node. PostgreSQL is backed up with its own tools.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			file, err := filepath.Abs(a[0])
			if err != nil {
				return err
			}
			if err := askNode(cmd, "POST", "/admin/backup", operator.BackupTo{File: file}, &operator.Nothing{}); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "wrote %s\n", file)
			return nil
		},
	}
	settingFlags(c, "data", "database")
	return c
}

func restoreCommand() *cobra.Command {
	var seed string
	c := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a data folder from a backup, checked before it is used",
		Long: `Checks a backup and copies it into the data folder, which must not have a database.
Give the ledger's seed with --seed FILE, or the ledger can be read but not continued,
and what people are asked about cannot be shown to them.
Then run "reeve ledger verify --checkpoints FILE" with checkpoints kept elsewhere: it
tells what the backup lacks.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			cfg, err := config(cmd)
			if err != nil {
				return err
			}
			if cfg.Data, err = datadir.Make(cfg.Data); err != nil {
				return err
			}
			if err := sqlite.Restore(a[0], cfg.Data); err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "restored %s into %s\n", a[0], cfg.Data)
			to := filepath.Join(cfg.Data, "seed")
			if seed == "" {
				if _, err := os.Stat(to); err != nil {
					fmt.Fprintf(out, "no seed is there: copy the old node's to %s before the node starts\n", to)
				}
				return nil
			}
			return copyNew(seed, to)
		},
	}
	c.Flags().StringVar(&seed, "seed", "", "file with the ledger's seed")
	settingFlags(c, "data")
	return c
}

// copyNew copies a secret file to a place where nothing is yet.
func copyNew(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, 1<<10))
	return errors.Join(err, out.Sync(), out.Close())
}
