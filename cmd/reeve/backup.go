package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/internal/datadir"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/secret"
	"reeve.example/reeve/internal/store/sqlite"
)

func backupCommand() *cobra.Command {
	var passphrase string
	c := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the database of a running or stopped node to a new file",
		Long: `Writes a consistent copy of the SQLite database to FILE, on the node's machine, while the
node goes on. With --passphrase the ledger's seed is in it, sealed, and a restored node goes
on as the same one; else copy DATA/seed once, and keep it apart, since who has both can sign
as this node. PostgreSQL is backed up with its own tools.`,
		Example: `  reeve backup /backups/monday.db --passphrase file:/etc/reeve/passphrase --yes
  reeve backup copy.db`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			file, err := filepath.Abs(a[0])
			if err != nil {
				return err
			}
			if flagOf(cmd, "server") != "" && !filepath.IsAbs(a[0]) {
				return usageError{fmt.Errorf("%s is written on the node's machine: give the whole path there", a[0])}
			}
			q := operator.BackupTo{File: file}
			if passphrase != "" {
				text, err := passphraseOf(passphrase)
				if err != nil {
					return err
				}
				if len(text) < secret.Shortest {
					return usageError{fmt.Errorf("--passphrase: it has less than %d characters", secret.Shortest)}
				}
				q.Passphrase = string(text)
				shown := "  the ledger's seed goes into the copy: who has the copy and the passphrase can sign as this node\n"
				if err := askTerminal(cmd, a, shown); err != nil {
					return err
				}
			}
			if err := askNode(cmd, "POST", "/admin/backup", q, &operator.Nothing{}); err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), struct {
					File string `json:"file"`
					Seed bool   `json:"seed"`
				}{file, passphrase != ""})
			}
			fmt.Fprintf(cmd.OutOrStdout(), "wrote %s\n", file)
			if passphrase == "" {
				fmt.Fprintln(cmd.ErrOrStderr(), "the ledger's seed is not in it: keep a copy of it apart, or add --passphrase; without it the ledger can be read, and not continued")
			}
			return nil
		},
	}
	c.Flags().StringVar(&passphrase, "passphrase", "", fmt.Sprintf("reference to a passphrase of at least %d characters, env:NAME or file:PATH: seals the ledger's seed into the copy", secret.Shortest))
	c.Flags().Bool("yes", false, "do not ask whether it is meant: for scripts of the node's owner")
	return jsonFlag(aboutNode(c))
}

func restoreCommand() *cobra.Command {
	var from restoring
	c := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a data folder from a backup, checked before it is used",
		Long: `Checks a backup and copies it into the data folder, which must not have a database; where its
seed is known, the ledger in it is verified, and what does not hold is said.
The ledger's seed is taken from the backup with --passphrase, or from a file with --seed.
Without one the ledger can be read but not continued. The node's first record says that it
goes on from a backup, and from where.

Where the seed is lost, --new-log goes on with a new one: the node signs the records that are
there, and all that follow, with a new key, and its first record holds the checkpoint with
which the log of the lost key ended. The new key proves that nothing changed since the restore;
of the time before, only the old public key does, and what was published then ("reeve ledger
verify --former-key KEY"). What was sealed with the lost seed stays sealed: what people were
asked about cannot be shown to them, so ask again.

Then run "reeve ledger verify --checkpoints FILE" with checkpoints kept elsewhere: it
tells what the backup lacks.`,
		Example: `  reeve restore monday.db --data restored --passphrase file:/etc/reeve/passphrase
  reeve restore copy.db --data restored --seed seed.kept
  reeve restore copy.db --data restored --new-log`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			cfg, err := config(cmd)
			if err != nil {
				return err
			}
			from.backup = a[0]
			return from.run(cmd, cfg)
		},
	}
	c.Flags().StringVar(&from.seed, "seed", "", "file with the ledger's seed")
	c.Flags().StringVar(&from.passphrase, "passphrase", "", "reference to the passphrase that the backup's seed is sealed with: env:NAME, file:PATH or a file's name")
	c.Flags().BoolVar(&from.newLog, "new-log", false, "the ledger's seed is lost: go on with a new key, in a log that names the one before")
	settingFlags(c, "data")
	return jsonFlag(c)
}

// restoring is a backup that is restored, and where the ledger's seed comes from.
type restoring struct {
	backup           string
	seed, passphrase string
	newLog           bool // the seed is lost
}

// run makes a data folder of the backup.
func (r *restoring) run(cmd *cobra.Command, cfg reeve.Config) error {
	text, err := r.readSeed() // before anything is made
	if err != nil {
		return err
	}
	data, err := datadir.Make(cfg.Data)
	if err != nil {
		return err
	}
	to := filepath.Join(data, "seed")
	if (text != nil || r.newLog) && exists(to) {
		return fmt.Errorf("%s is there already; move it away first", to)
	}
	if err := r.database(data); err != nil {
		return err
	}
	told := cmd.OutOrStdout()
	if wantsJSON(cmd) {
		told = cmd.ErrOrStderr()
		if err := printJSON(cmd.OutOrStdout(), struct {
			File   string `json:"file"`
			Data   string `json:"data"`
			Seed   bool   `json:"seed"` // it is there: the node goes on with the same key
			NewKey bool   `json:"new_key"`
		}{r.backup, data, text != nil || exists(to), r.newLog}); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(told, "restored %s into %s\n", r.backup, data)
	}
	switch {
	case r.newLog:
		fmt.Fprintln(told, "the node makes its new key at its next start, and signs with it from then on: reeve ledger key prints it then. What the lost key signed is proved by the old public key alone: keep it, and verify with it until then (reeve ledger verify --key KEY)")
	case text != nil:
		if err := writeNew(to, text); err != nil {
			return err
		}
		return verifyRestored(cmd, cfg, data)
	case exists(to):
		return verifyRestored(cmd, cfg, data)
	default:
		fmt.Fprintf(told, "no seed is there: copy the old node's to %s before the node starts; if it is lost, restore with --new-log\n", to)
	}
	return nil
}

// verifyRestored verifies the ledger that was restored, with the seed that lies beside it now. Of one that does not
// hold all is kept that is there: it may be the only one.
func verifyRestored(cmd *cobra.Command, cfg reeve.Config, data string) error {
	cfg.Data, cfg.Database, cfg.Ledger.Seed = data, "", ""
	store, err := reeve.OpenReader(cmd.Context(), cfg)
	if err != nil {
		return fmt.Errorf("open what was restored: %w", err)
	}
	defer store.Close()
	head, err := store.Head(cmd.Context(), 0)
	if err != nil {
		return fmt.Errorf("read what was restored: %w", err)
	}
	if cp, err := ledger.ParseCheckpoint(head.Checkpoint); err == nil { // the backup says of which node it is, its seed whether that is so
		cfg.Ledger.Origin = strings.TrimSuffix(cp.Origin, "/0")
	}
	var said bytes.Buffer
	if err := (&verification{only: -1}).run(cmd.Context(), cfg, store, &said, false); err != nil {
		fmt.Fprint(cmd.ErrOrStderr(), said.String())
		return fmt.Errorf("the backup is restored into %s, and is not as its node wrote it: %w", data, err)
	}
	return nil
}

// database restores the database. First the folder says that its database is a restored
// one, so that none is without that.
func (r *restoring) database(data string) error {
	restored := filepath.Join(data, datadir.Restored)
	var word []byte
	if r.newLog {
		word = []byte(datadir.NewLog)
	}
	wrote := writeNew(restored, word)
	if errors.Is(wrote, fs.ErrExist) {
		// Of one that was killed, or that no node has begun with yet. By another's word the
		// node would take a new key unasked, or none.
		if said, err := os.ReadFile(restored); err != nil || !bytes.Equal(said, word) {
			return errors.Join(err, fmt.Errorf("%s is left of another restore, which was with --new-log where this one is not, or the other way: remove it first", restored))
		}
	} else if wrote != nil {
		return wrote
	}
	err := sqlite.Restore(r.backup, data)
	if err != nil && wrote == nil { // another's is of the database that is there
		err = errors.Join(err, os.Remove(restored))
	}
	return err
}

// readSeed is the seed for the restored ledger; nil where none was asked for.
func (r *restoring) readSeed() ([]byte, error) {
	switch {
	case r.seed != "" && r.passphrase != "":
		return nil, usageError{errors.New("--seed and --passphrase exclude each other")}
	case r.newLog && (r.seed != "" || r.passphrase != ""):
		return nil, usageError{errors.New("--new-log is for a seed that is lost: leave --seed and --passphrase away, or it")}
	case r.newLog:
		return nil, nil
	case r.seed != "":
		return os.ReadFile(strings.TrimPrefix(r.seed, "file:"))
	}
	sealed, err := sqlite.SealedSeed(r.backup)
	if err != nil {
		return nil, fmt.Errorf("restore %s: %w", r.backup, err)
	}
	switch {
	case r.passphrase == "" && sealed != nil:
		return nil, usageError{errors.New("the ledger's seed is sealed in this backup: give its passphrase with --passphrase env:NAME or file:PATH, or another seed with --seed")}
	case r.passphrase == "":
		return nil, nil
	case sealed == nil:
		return nil, usageError{errors.New("no seed is sealed in this backup: give the file with --seed")}
	}
	text, err := passphraseOf(r.passphrase)
	if err != nil {
		return nil, err
	}
	seed, err := secret.Unseal(sealed, text)
	if err != nil {
		return nil, fmt.Errorf("the seed in the backup: %w", err)
	}
	return seed, nil
}

// passphraseOf is the passphrase that a reference means, which can also be the file's name alone,
// as that of --seed is.
func passphraseOf(reference string) ([]byte, error) {
	if !strings.HasPrefix(reference, "env:") && !strings.HasPrefix(reference, "file:") && exists(reference) {
		reference = "file:" + reference
	}
	text, err := secret.Read(reference)
	if err != nil {
		return nil, usageError{fmt.Errorf("--passphrase: %w", err)}
	}
	return text, nil
}

// writeNew writes a file that only its owner can read, where nothing is yet.
func writeNew(name string, text []byte) error {
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return errors.Join(err, out.Sync(), out.Close())
}
