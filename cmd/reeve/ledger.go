package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/retention"
	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/visible"
	"reeve.example/reeve/internal/words"
)

func ledgerCommand() *cobra.Command {
	return group("ledger", "Read, verify and keep the record of what was decided",
		ledgerVerify(), ledgerSearch(), ledgerShow(), ledgerTail(), ledgerExport(), ledgerReceipt(), ledgerVerifyReceipt(),
		ledgerKey(), ledgerIndex(), ledgerPrune(), ledgerErase())
}

// ledgerFlags are the flags of commands that read a ledger.
func ledgerFlags(c *cobra.Command) *cobra.Command {
	settingFlags(c, "data", "database", "ledger-seed", "ledger-origin")
	return c
}

// logFlag adds the flag for the number of one log.
func logFlag(c *cobra.Command, log *uint32) *cobra.Command {
	c.Flags().Uint32Var(log, "log", 0, "number of the log")
	return c
}

// oneLogFlag adds the flag for one log instead of all.
func oneLogFlag(c *cobra.Command, log *int) *cobra.Command {
	c.Flags().IntVar(log, "log", -1, "number of one log (default: all)")
	return c
}

// reading runs f with a node's database, opened to be read.
func reading(cmd *cobra.Command, f func(ctx context.Context, c reeve.Config, store store.Store) error) error {
	c, err := configFor(cmd, true)
	if err != nil {
		return err
	}
	c = orOwn(c)
	if err := noRecords(c); err != nil {
		return err
	}
	store, err := reeve.OpenReader(cmd.Context(), c)
	if err != nil && noDatabase(c) {
		return fmt.Errorf("there is no reeve.db in %s: name the node's database with --database, and its seed with --ledger-seed, where the command has it", c.Data)
	}
	if err != nil {
		return fmt.Errorf("open the ledger: %w", err)
	}
	return errors.Join(f(cmd.Context(), c, store), store.Close())
}

func ledgerVerify() *cobra.Command {
	var v verification
	c := &cobra.Command{
		Use:   "verify",
		Short: "Find any record that was changed, removed, reordered or cut off",
		Long: `Reads every record of every log, and holds it against the tree's hashes, the
signed checkpoints, and what lies beside the records. Ends with exit code 1 when
anything is wrong, and names the records.

A log that was cut short can only be told by a checkpoint that was kept elsewhere:
give the file that --ledger-file wrote, or any signed checkpoints, with --checkpoints.

A log that goes on with a new key, since its seed was lost, holds with the new key; that its
first records are what the lost key signed is looked at with --former-key.

It reads the database itself: what a node elsewhere says of its own ledger would prove nothing.
Of such a node take an archive, reeve evidence --server URL, and verify that with --evidence.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if v.evidence != "" {
				return verifyEvidence(v.evidence, v.key, cmd.OutOrStdout())
			}
			return reading(cmd, func(ctx context.Context, c reeve.Config, store store.Store) error {
				return v.run(ctx, c, store, cmd.OutOrStdout(), wantsJSON(cmd))
			})
		},
	}
	c.Flags().StringVar(&v.key, "key", "", "the log's public key, as 'reeve ledger key' prints it (default: from the node's seed)")
	c.Flags().StringVar(&v.kept, "checkpoints", "", "file of signed checkpoints that were kept elsewhere")
	c.Flags().StringArrayVar(&v.former, "former-key", nil, "a public key with which the log was signed before its seed was lost")
	c.Flags().StringVar(&v.evidence, "evidence", "", "verify this archive of reeve evidence instead, offline, with --key")
	c.Flags().IntVar(&v.only, "log", -1, "number of the only log to verify (default: all)")
	c.Flags().BoolVar(&v.quick, "quick", false, "leave out what lies beside the records")
	return jsonFlag(ledgerFlags(c))
}

// verification is what is asked of "ledger verify": its flags.
type verification struct {
	key, kept string
	evidence  string
	former    []string
	only      int
	quick     bool
}

func (v *verification) run(ctx context.Context, c reeve.Config, store store.Store, w io.Writer, asJSON bool) error {
	checkpoints, err := readCheckpoints(v.kept)
	if err != nil {
		return err
	}
	logs, err := store.Logs(ctx)
	if err != nil {
		return err
	}
	if v.only >= 0 {
		logs = []uint32{uint32(v.only)}
	}
	bad := 0
	reports := []verifiedLog{}
	for _, log := range logs {
		key, err := keyOr(v.key, c, log)
		if err != nil {
			return err
		}
		if len(logs) > 1 && !signedWith(ctx, store, log, key) {
			if !asJSON {
				fmt.Fprintf(w, "log %d is another node's, signed with another key: verify it with --log %d --key KEY\n", log, log)
			}
			reports = append(reports, verifiedLog{Log: log, OtherKey: true})
			bad++
			continue
		}
		report, err := ledger.Verify(ctx, store, ledger.VerifyOptions{
			Log: log, TrustedKey: key, Checkpoints: checkpoints, SkipOpenings: v.quick, FormerKeys: v.former,
		})
		if err != nil {
			return fmt.Errorf("verify log %d: %w", log, err)
		}
		if !asJSON {
			printReport(w, report)
		}
		reports = append(reports, logVerified(report))
		bad += len(report.Problems) + report.More
	}
	beside, err := v.beside(ctx, c, store, w, asJSON)
	if err != nil {
		return err
	}
	bad += len(beside)
	if asJSON {
		if len(reports) > 0 {
			reports[0].Beside = beside
		}
		if err := printJSON(w, reports); err != nil {
			return err
		}
	}
	if bad > 0 {
		return fmt.Errorf("the ledger is not verified: %s", words.Count(bad, "problem"))
	}
	return nil
}

// beside looks at what lies beside the ledger and is believed: approvals, grants, agents, keys.
// It needs the seed, which who verifies with a public key alone has not.
func (v *verification) beside(ctx context.Context, c reeve.Config, store store.Store, w io.Writer, asJSON bool) ([]string, error) {
	if _, err := c.LedgerKey(0); v.key != "" || v.quick || v.only >= 0 || err != nil {
		if !asJSON && !v.quick {
			fmt.Fprintln(w, "what lies beside the ledger (approvals, agents, API keys) was not looked at: that needs the node's seed, and no --log")
		}
		return nil, nil
	}
	problems, unsealed, err := c.CheckRows(ctx, store, true)
	switch {
	case err != nil:
		return nil, fmt.Errorf("look at what lies beside the ledger: %w", err)
	case asJSON:
	case unsealed:
		fmt.Fprintln(w, "what lies beside the ledger bears no seals yet: an earlier version wrote it, and the next start of a node seals it")
	case len(problems) == 0:
		fmt.Fprintln(w, "what lies beside the ledger holds, too: approvals, agents, API keys and the rest are as they were last written")
	default:
		fmt.Fprintln(w, "what lies beside the ledger DOES NOT HOLD:")
		for _, p := range problems {
			fmt.Fprintf(w, "  %s\n", visible.Line(p))
		}
	}
	return problems, nil
}

// verifiedLog is what programs are told of a log that was verified.
type verifiedLog struct {
	Log      uint32 `json:"log"`
	Holds    bool   `json:"holds"`
	OtherKey bool   `json:"other_key,omitzero"` // another node's: it was not looked at
	Records  uint64 `json:"records"`
	Pruned   uint64 `json:"pruned,omitzero"`
	Contents uint64 `json:"contents"`
	Without  uint64 `json:"without_contents"`
	// Missing is how often which of what records commit to is not there.
	Missing   map[string]uint64 `json:"missing_contents,omitempty"`
	Confirmed uint64            `json:"confirmed"`       // records below it stand under a checkpoint that was given
	Former    uint64            `json:"former,omitzero"` // records that another key signed
	Proved    bool              `json:"former_proved,omitzero"`
	Unproved  int               `json:"unproved,omitzero"`
	Unchecked int               `json:"unchecked,omitzero"`
	Problems  []string          `json:"problems"`
	More      int               `json:"more_problems,omitzero"`
	// Beside is what is wrong with what lies beside all logs; it stands with the first.
	Beside []string `json:"beside_problems,omitempty"`
}

func logVerified(r *ledger.Report) verifiedLog {
	v := verifiedLog{
		Log: r.Log, Holds: r.OK(), Records: r.Size, Pruned: r.Pruned, Contents: r.Openings, Without: r.Absent, Missing: r.Missing,
		Confirmed: r.Confirmed, Former: r.Former, Proved: r.FormerProved, Unproved: r.Unproved, Unchecked: r.Unchecked, Problems: []string{}, More: r.More,
	}
	for _, p := range r.Problems {
		v.Problems = append(v.Problems, p.Message)
	}
	return v
}

// readCheckpoints reads the signed checkpoints of a file; none without a name.
func readCheckpoints(file string) ([][]byte, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	checkpoints := ledger.SplitCheckpoints(text)
	if len(checkpoints) == 0 {
		return nil, fmt.Errorf("%s holds no signed checkpoint", file)
	}
	return checkpoints, nil
}

// keyOr is the public key that was given, or else the one of the node's seed.
func keyOr(given string, c reeve.Config, log uint32) (string, error) {
	if given != "" {
		return given, nil
	}
	return c.LedgerKey(log)
}

// signedWith reports whether a log's newest checkpoint is signed with a key.
// Nodes that share a database may have a seed each.
func signedWith(ctx context.Context, store ledger.Reader, log uint32, key string) bool {
	head, err := store.Head(ctx, log)
	if err != nil || head.Size == 0 {
		return true // for Verify to look at
	}
	_, err = ledger.OpenCheckpoint(head.Checkpoint, key)
	return err == nil
}

// missingContents lists what is not beside the log of what records commit to. Whether it was erased, has
// expired or was never kept is in the records of that, and in the settings of that time.
func missingContents(fields map[string]uint64) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		list = append(list, fmt.Sprintf("%s of %d", name, fields[name]))
	}
	if list == nil {
		return ""
	}
	return ": the " + strings.Join(list, ", the ")
}

func printReport(w io.Writer, r *ledger.Report) {
	if r.OK() {
		fmt.Fprintf(w, "log %d holds: %d records, every hash and signature agrees\n", r.Log, r.Size)
	} else {
		fmt.Fprintf(w, "log %d DOES NOT HOLD: %d records\n", r.Log, r.Size)
		for _, p := range r.Problems {
			fmt.Fprintf(w, "  %s\n", p)
		}
		if r.More > 0 {
			fmt.Fprintf(w, "  … and %d more\n", r.More)
		}
	}
	if r.Pruned > 0 && r.OK() {
		fmt.Fprintf(w, "  pruned      records below %d were removed on purpose; their hashes still count\n", r.Pruned)
	}
	committed := ", all as committed"
	if !r.OK() { // what is wrong can be with them, and stands above
		committed = ""
	}
	fmt.Fprintf(w, "  contents    %d records have all that they commit to beside the log%s; %d do not, or no longer%s\n", r.Openings, committed, r.Absent, missingContents(r.Missing))
	if r.Confirmed > 0 {
		fmt.Fprintf(w, "  anchored    records below %d stand under a checkpoint that you gave: as sure as the place where it was kept\n", r.Confirmed)
	}
	if r.Confirmed < r.Size {
		fmt.Fprintf(w, "  unanchored  records from %d on: held against nothing but this database; whoever writes it and has the key could have rewritten them\n", r.Confirmed)
	}
	if r.Noted > r.Confirmed {
		fmt.Fprintf(w, "  noted       the database says that a checkpoint of %d records was published at %s: fetch it from there, and give it with --checkpoints\n",
			r.Noted, visible.Line(r.NotedAt))
	}
	switch {
	case r.Former == 0:
	case r.FormerProved:
		fmt.Fprintf(w, "  former      records below %d are as the former key signed them that you gave\n", r.Former)
	default:
		fmt.Fprintf(w, "  former      records below %d were signed with another key, which was lost: this key proves only that they are as a backup had them; give the other with --former-key\n", r.Former)
	}
	if r.Unproved > 0 {
		fmt.Fprintf(w, "  unproved    %s of that time: held against the log, and not against the key that signed them\n", words.Count(r.Unproved, "checkpoint"))
	}
	if r.Unchecked > 0 {
		fmt.Fprintf(w, "  unchecked   %d checkpoints need hashes that were pruned\n", r.Unchecked)
	}
}

// headOf returns the head of a log, or an error that names the log.
func headOf(ctx context.Context, store ledger.Reader, log uint32) (ledger.Head, error) {
	head, err := store.Head(ctx, log)
	if err != nil {
		err = fmt.Errorf("log %d: %w", log, err)
	}
	return head, err
}

// logsOf are the records of one log, or where it is negative of all.
func logsOf(ctx context.Context, store ledger.Reader, log int) ([]ledger.Range, error) {
	if log < 0 {
		return ledger.AllLogs(ctx, store)
	}
	if log > math.MaxUint32 {
		return nil, usageError{fmt.Errorf("--log: there is no log %d", log)}
	}
	if _, err := headOf(ctx, store, uint32(log)); err != nil {
		return nil, err
	}
	return []ledger.Range{{Log: uint32(log), To: math.MaxUint64}}, nil
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// printContents shows what lies beside a record, as far as it is there.
func printContents(w io.Writer, content func(ledger.Field) []byte) {
	for _, f := range []ledger.Field{ledger.Principal, ledger.Reasons, ledger.Links, ledger.Request, ledger.Modified} {
		if content := content(f); content != nil {
			fmt.Fprintf(w, "\n%s\n%s\n", f, pretty(content))
		}
	}
}

// pretty indents JSON, and shows control and format characters as escapes: what
// agents sent must not steer the terminal it is shown on.
func pretty(data []byte) []byte {
	v := jsontext.Value(bytes.Clone(data))
	if v.Indent(jsontext.WithIndent("  ")) != nil {
		return []byte(visible.Line(string(data)))
	}
	return []byte(visible.Lines(string(v)))
}

func ledgerExport() *cobra.Command {
	var log int
	var from, to uint64
	var openings, newest bool
	c := &cobra.Command{
		Use:   "export",
		Short: "Write records as JSON Lines",
		Long: `Writes the records of all logs in the order of their times, the oldest first. --from and --to
are indexes in a log, and so need --log. It reads the database itself: of a node elsewhere
reeve evidence --server URL gives the same with proofs, and reeve ledger search --json its lines.`,
		Example: `  reeve ledger export --contents > ledger.jsonl
  reeve ledger export --newest | head -n 100`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if log < 0 && (cmd.Flags().Changed("from") || cmd.Flags().Changed("to")) {
				return usageError{errors.New("--from and --to are indexes in one log: say which with --log")}
			}
			order := ledger.OldestFirst
			if newest {
				order = ledger.NewestFirst
			}
			return reading(cmd, func(ctx context.Context, _ reeve.Config, store store.Store) error {
				logs, err := logsOf(ctx, store, log)
				if err != nil {
					return err
				}
				if log >= 0 {
					logs[0].From, logs[0].To = from, to
				}
				return ledger.ExportLogs(ctx, store, logs, order, openings, cmd.OutOrStdout())
			})
		},
	}
	oneLogFlag(c, &log)
	c.Flags().Uint64Var(&from, "from", 0, "first index")
	c.Flags().Uint64Var(&to, "to", math.MaxInt64, "index after the last")
	c.Flags().BoolVar(&openings, "contents", false, "with what lies beside the records: principals, reasons, requests")
	c.Flags().BoolVar(&newest, "newest", false, "the newest first")
	return ledgerFlags(c)
}

func ledgerReceipt() *cobra.Command {
	var disclose []string
	c := &cobra.Command{
		Use:   "receipt DECISION",
		Short: "Write the proof that a decision is in the ledger",
		Long: `Writes a receipt: the record, its proof, and a signed checkpoint. Whoever has the
log's public key can verify it offline. With --disclose it also shows what the record
commits to: request, modified, principal, reasons, links.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			pos, err := act.ParsePosition(a[0])
			if err != nil {
				return usageError{err}
			}
			var fields []ledger.Field
			for _, name := range disclose {
				f, err := ledger.ParseField(name)
				if err != nil {
					return usageError{err}
				}
				fields = append(fields, f)
			}
			if server := flagOf(cmd, "server"); server != "" {
				return receiptFrom(cmd, pos, len(fields) > 0)
			}
			return reading(cmd, func(ctx context.Context, _ reeve.Config, store store.Store) error {
				receipt, err := ledger.NewTree(store, pos.Log).MakeReceipt(ctx, pos.Index, fields...)
				if err != nil {
					return err
				}
				_, err = cmd.OutOrStdout().Write(receipt)
				return err
			})
		},
	}
	c.Flags().StringSliceVar(&disclose, "disclose", nil, "what to show of the contents")
	return aboutNode(c)
}

// receiptFrom has a node elsewhere make a receipt. It shows contents to nobody that way.
func receiptFrom(cmd *cobra.Command, pos act.Position, disclose bool) error {
	if disclose {
		return usageError{errors.New("--disclose shows what lies beside the record, which only who has the database can: leave out --server")}
	}
	at := serverOf(cmd)
	if err := at.fit(cmd); err != nil {
		return err
	}
	key, err := at.credential()
	if err != nil {
		return err
	}
	receipt, err := operator.At(at.server, key).Text(cmd.Context(), fmt.Sprintf("/ledger/%d/receipt/%d", pos.Log, pos.Index))
	if err == nil {
		_, err = cmd.OutOrStdout().Write(receipt)
	}
	return err
}

func ledgerVerifyReceipt() *cobra.Command {
	var key string
	var log uint32
	c := &cobra.Command{
		Use:   "verify-receipt FILE",
		Short: "Check a receipt, offline; - reads standard input",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			text, err := readFile(cmd, a[0])
			if err != nil {
				return err
			}
			if key == "" { // only then is a configuration needed
				c, err := config(cmd)
				if err != nil {
					return err
				}
				if key, err = c.LedgerKey(log); err != nil {
					return err
				}
			}
			r, err := ledger.VerifyReceipt(text, key)
			if err != nil {
				return fmt.Errorf("the receipt does not hold: %w", err)
			}
			w := cmd.OutOrStdout()
			if wantsJSON(cmd) {
				return printJSON(w, receiptVerified(&r))
			}
			fmt.Fprintf(w, "the receipt holds: decision %s, %s %s at %s, is in a log of %d records\n",
				r.Record.ID(), r.Record.Kind, dash(r.Record.Effect), r.Record.Time.Format(time.RFC3339), r.Checkpoint.Size)
			printContents(w, r.Opening.Field)
			return nil
		},
	}
	c.Flags().StringVar(&key, "key", "", "the log's public key (default: from the node's seed)")
	c.Flags().Uint32Var(&log, "log", 0, "number of the log, without --key")
	return jsonFlag(ledgerFlags(c))
}

// verifiedReceipt is what programs are told of a receipt that holds.
type verifiedReceipt struct {
	Holds     bool                      `json:"holds"`
	Decision  string                    `json:"decision"`
	Kind      string                    `json:"kind"`
	Effect    string                    `json:"effect"`
	Time      time.Time                 `json:"time"`
	Log       string                    `json:"log"`
	Records   uint64                    `json:"records"`
	Disclosed map[string]jsontext.Value `json:"disclosed,omitempty"`
}

func receiptVerified(r *ledger.Receipt) verifiedReceipt {
	v := verifiedReceipt{
		Holds: true, Decision: r.Record.ID(), Kind: string(r.Record.Kind), Effect: r.Record.Effect, Time: r.Record.Time,
		Log: r.Checkpoint.Origin, Records: r.Checkpoint.Size, Disclosed: map[string]jsontext.Value{},
	}
	for _, f := range []ledger.Field{ledger.Principal, ledger.Reasons, ledger.Links, ledger.Request, ledger.Modified} {
		if content := r.Opening.Field(f); content != nil && jsontext.Value(content).IsValid() {
			v.Disclosed[f.String()] = content
		}
	}
	return v
}

// readFile reads a named file, or standard input if the name is "-".
func readFile(cmd *cobra.Command, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(cmd.InOrStdin())
	}
	return os.ReadFile(name)
}

func ledgerKey() *cobra.Command {
	var log uint32
	c := &cobra.Command{
		Use:   "key",
		Short: "Print the public key that verifies the log's checkpoints and receipts",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			key, err := logKey(cmd, log)
			if err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), struct {
					Log uint32 `json:"log"`
					Key string `json:"key"`
				}{log, key})
			}
			fmt.Fprintln(cmd.OutOrStdout(), key)
			return nil
		},
	}
	new(nodeFlags).add(c)
	return jsonFlag(ledgerFlags(logFlag(c, &log)))
}

// logKey is a log's public key: of the seed in the data folder, or as a node elsewhere says it.
func logKey(cmd *cobra.Command, log uint32) (key string, err error) {
	if flagOf(cmd, "server") == "" {
		c, err := config(cmd)
		if err != nil {
			return "", err
		}
		return c.LedgerKey(log)
	}
	path := fmt.Sprintf("/ledger/%d/key", log)
	err = withNode(cmd, true, path, func(c *operator.Client) error {
		text, err := c.Text(cmd.Context(), path)
		key = strings.TrimSpace(string(text))
		return err
	})
	return key, err
}

func ledgerPrune() *cobra.Command {
	var checkpoint, before string
	c := &cobra.Command{
		Use:   "prune",
		Short: "Remove the oldest records: those before a day, or up to a signed checkpoint",
		Long: `Removes records in whole tiles of 256: those that are older than --before, or up to the
signed checkpoint of --checkpoint. What remains can still be proved. Keep an export of what
goes. What would go is shown, and asked about, first; records that are younger than the
node's setting retention.records stay.`,
		Example: `  reeve ledger export --contents > until-2026.jsonl
  reeve ledger prune --before 2027-01-01
  reeve ledger prune --before 400d --yes
  reeve ledger prune --checkpoint kept.txt`,
		Args: args(cobra.NoArgs),
		// Without it, all but the newest records would go.
		// An age is made a time here, so that what is shown is what goes.
		PreRunE: func(*cobra.Command, []string) error {
			q, err := pruneUpTo(checkpoint, before, time.Now())
			if err == nil && before != "" {
				before = q.Before.Format(time.RFC3339Nano)
			}
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := pruneUpTo(checkpoint, before, time.Now())
			if err != nil {
				return err
			}
			var pruned retention.Pruned
			if err := askNode(cmd, "POST", "/admin/prune", q, &pruned); err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), pruned)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s went; those below %d are gone\n", words.Count(int(pruned.Records), "record"), pruned.From)
			return nil
		},
	}
	c.Flags().StringVar(&before, "before", "", "a day such as 2027-01-31, a time, or an age such as 400d: older records go")
	c.Flags().StringVar(&checkpoint, "checkpoint", "", "file with a signed checkpoint, up to which records go")
	return jsonFlag(aboutNode(c))
}

// pruneUpTo reads which records are to go.
func pruneUpTo(checkpoint, before string, now time.Time) (q operator.Prune, err error) {
	switch {
	case (checkpoint == "") == (before == ""):
		return q, usageError{errors.New("say up to where: either --before DAY|AGE, or --checkpoint FILE, a signed checkpoint that was kept")}
	case checkpoint != "":
		text, err := os.ReadFile(checkpoint)
		if err != nil {
			return q, err
		}
		if q.Checkpoint = string(text); len(strings.TrimSpace(q.Checkpoint)) == 0 {
			return q, usageError{fmt.Errorf("%s is empty: it is no checkpoint", checkpoint)}
		}
		return q, nil
	}
	if q.Before, err = operator.Moment(before, now); err != nil {
		return q, usageError{fmt.Errorf("--before %w", err)}
	}
	return q, nil
}

func ledgerErase() *cobra.Command {
	var q operator.Erase
	c := &cobra.Command{
		Use:   "erase [DECISION…]",
		Short: "Erase the contents of decisions, or all of a user's, with the user's tasks; the records stay",
		RunE: func(cmd *cobra.Command, ids []string) error {
			q.Decisions = ids
			if len(ids) == 0 && q.User == "" {
				return usageError{errors.New("name decisions, or a user with --user")}
			}
			var erased retention.Erased
			if err := askNode(cmd, "POST", "/admin/erase", q, &erased); err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), erased)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "erased the contents of %s", words.Count(erased.Count, "decision"))
			if erased.Trees+erased.A2A > 0 {
				fmt.Fprintf(cmd.OutOrStdout(), ", %s and %s", words.Count(erased.Trees, "task tree"), words.Count(erased.A2A, "A2A task"))
			}
			fmt.Fprintln(cmd.OutOrStdout())
			return nil
		},
	}
	c.Flags().StringVar(&q.User, "user", "", "the user's id, as agents named it, or as tasks have it: key:NAME")
	return jsonFlag(aboutNode(c))
}
