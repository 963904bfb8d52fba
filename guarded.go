package reeve

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guardian"
	"reeve.example/reeve/internal/risk/hazard"
)

// UserData is the user's own data folder, which hooks and proxies use unless a setting names
// another; empty where the system knows no such folder.
func UserData() string {
	own, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(own, "reeve", "data")
}

// UserPolicy is where a user's own policy lies, which rules in UserData unless a setting names
// another; empty where the system knows no such folder.
func UserPolicy() string { return policyBeside(UserData()) }

// PolicyPath is where the policy lies by which this configuration judges, whoever does: a node,
// a hook or proxy without one, or who explains what they decided. It is the one that a setting
// names, else what lies beside a user's own data folder; empty for the one that is built in.
func (c *Config) PolicyPath() string {
	if own := c.OwnPolicy(); own != "" && exists(own) {
		return own
	}
	return c.Policy
}

// OwnPolicy is where a policy rules from the moment that somebody makes it; empty where a setting
// names one, and where the data folder is no user's own.
func (c *Config) OwnPolicy() string {
	if c.Policy != "" {
		return ""
	}
	return cmp.Or(c.beside, policyBeside(c.Data))
}

// policyBeside is where the policy of a data folder lies that is a user's own, which is known by
// its name: reeve/policy beside reeve/data. No variable has a say, since what an agent works on
// may set those of its hooks. Empty for other folders.
func policyBeside(data string) string {
	if data == "" {
		return ""
	}
	data, err := filepath.Abs(data)
	if err != nil || filepath.Base(data) != "data" || filepath.Base(filepath.Dir(data)) != "reeve" {
		return ""
	}
	return filepath.Join(filepath.Dir(data), "policy")
}

// Tampering tells why an act would reach for a node of this configuration: reasons that
// nobody can let pass. A node asks for itself; this is for who tries an act without one.
func (c Config) Tampering(a *act.Action) []act.Reason { return c.guarded(nil).Tampering(a, nil) }

// guarded is what this node guards against those that it judges: its own folder,
// secrets, policy, configuration and programs, and the hooks of coding agents. started is the command
// line of its process, if that is this one.
func (c *Config) guarded(started []string) *guardian.Guarded {
	n := guardian.Node{Data: c.Data, Listen: c.Listen, PID: os.Getpid()}
	for _, of := range append([]*Config{c}, c.neighbours()...) {
		secrets, laws := of.ownFiles()
		n.Secrets, n.Laws = append(n.Secrets, secrets...), append(n.Laws, laws...)
		if of != c && of.Organization != "" { // another organization's configuration is nobody's to read
			n.Secrets = append(n.Secrets, of.file)
		}
	}
	n.Home, _ = os.UserHomeDir()
	hazard.KnowHomes(n.Home)
	if own, err := os.UserConfigDir(); err == nil {
		// What the user trusts decides which settings rule; a policy of his own, and settings of his own
		// for hooks and proxies, would rule from the moment that somebody makes them.
		n.Laws = append(n.Laws, filepath.Join(own, "reeve", "trusted"), filepath.Join(own, "reeve", "reeve.yaml"), UserPolicy())
	}
	// A test's program, or one that has reeve as its library, is no program of reeve's.
	if program, err := os.Executable(); err == nil && strings.HasPrefix(filepath.Base(program), "reeve") && !strings.Contains(filepath.Base(program), ".test") {
		for _, name := range []string{"reeve", "reeve-hook"} {
			if p := filepath.Join(filepath.Dir(program), name+filepath.Ext(program)); exists(p) {
				n.Programs = append(n.Programs, p)
			}
		}
		n.Programs, n.Started = append(n.Programs, program), started
	}
	return guardian.New(n)
}

// ownFiles are the files of this configuration that nobody but the node reads, and those that
// nobody else changes: what it decides by, and what it writes for others to rely on.
func (c *Config) ownFiles() (secrets, laws []string) {
	secrets = append(c.secretFiles(), c.TLS.Key)
	for _, dir := range []string{c.Data, c.sqlite()} {
		if dir != "" {
			secrets = append(secrets, dir)
		}
	}
	// Who writes the keys that tokens are checked by is whoever they like, an admin too. By the
	// checkpoints it is found what was cut off, and by the events others see what was done.
	laws = []string{c.Policy, c.OwnPolicy(), c.file, c.JWT.JWKS, c.Ledger.File, c.Events.File}
	for _, bundle := range c.SPIFFE.Bundles { // as with the keys
		if _, file, ok := strings.Cut(bundle, "="); ok {
			laws = append(laws, file)
		}
	}
	return secrets, laws
}

// fileReference begins a reference to a file that holds a secret: alone, or behind what the
// secret is for, as in NAME=file:PATH, NAME=ROLE:file:PATH and ORIGIN=HEADER: file:PATH.
const fileReference = "file:"

// secretFiles are the files that any setting refers to for a secret. All settings are looked
// through, so that a new one is guarded without a word of its own.
func (c *Config) secretFiles() (files []string) {
	for _, s := range c.Settings() {
		list, ok := s.value.Interface().([]string)
		if !ok {
			list = []string{s.String()}
		}
		for _, text := range list {
			files = append(files, referredFiles(text)...)
		}
	}
	return files
}

// referredFiles are the files that a setting's text refers to. A path may hold the word, too:
// each reading of the text is one.
func referredFiles(text string) (files []string) {
	for at := 0; ; {
		i := strings.Index(text[at:], fileReference)
		if i < 0 {
			return files
		}
		begins := at + i
		at = begins + len(fileReference)
		if begins == 0 || strings.IndexByte("=: ", text[begins-1]) >= 0 {
			files = append(files, text[at:])
		}
	}
}
