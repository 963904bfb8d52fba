package reeve

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guardian"
)

// UserPolicy is where a user's own policy lies, which hooks and proxies judge by unless
// a setting names another; empty where the system knows no such folder.
func UserPolicy() string {
	own, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(own, "reeve", "policy")
}

// Tampering tells why an act would reach for a node of this configuration: reasons that
// nobody can let pass. A node asks for itself; this is for who tries an act without one.
func (c Config) Tampering(a *act.Action) []act.Reason { return c.guarded().Tampering(a, nil) }

// guarded is what this node guards against those that it judges: its own folder,
// secrets, policy, configuration and programs, and the hooks of coding agents.
func (c *Config) guarded() *guardian.Guarded {
	n := guardian.Node{Data: c.Data, Laws: []string{c.Policy, c.file}, Listen: c.Listen, PID: os.Getpid(), Secrets: []string{c.TLS.Key}}
	n.Home, _ = os.UserHomeDir()
	for _, ref := range []string{c.Ledger.Seed, c.JWT.Secret, c.Model.Key, c.Tasks.PushSecret, c.A2A.Key} {
		if name, ok := strings.CutPrefix(ref, "file:"); ok {
			n.Secrets = append(n.Secrets, name)
		}
	}
	for _, shared := range slices.Concat(c.ACS.Keys, c.A2G.Secrets) { // who has one can be that agent
		if _, name, ok := strings.Cut(shared, "file:"); ok {
			n.Secrets = append(n.Secrets, name)
		}
	}
	if own, err := os.UserConfigDir(); err == nil {
		// What the user trusts decides which settings rule; a policy of his own would rule
		// from the moment that somebody makes it.
		n.Laws = append(n.Laws, filepath.Join(own, "reeve", "trusted"), UserPolicy())
	}
	// A test's program, or one that has reeve as its library, is no program of reeve's.
	if program, err := os.Executable(); err == nil && strings.HasPrefix(filepath.Base(program), "reeve") && !strings.Contains(filepath.Base(program), ".test") {
		for _, name := range []string{"reeve", "reeve-hook"} {
			if p := filepath.Join(filepath.Dir(program), name+filepath.Ext(program)); exists(p) {
				n.Programs = append(n.Programs, p)
			}
		}
		n.Programs = append(n.Programs, program)
	}
	return guardian.New(n)
}
