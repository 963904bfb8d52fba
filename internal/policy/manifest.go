package policy

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/rawjson"
)

// defaultManifest is what a tool may use of which no document says anything,
// and what stands for the limits that a manifest leaves out.
var defaultManifest = act.Manifest{MaxMemoryMB: 256, MaxCPUPercent: 100, TimeoutSeconds: 30}

// manifest is what one glob of tools may use.
type manifest struct {
	glob    string
	literal int // characters of the glob that are no wildcards
	file    string
	at      *node
	given   []string // the limits that the document names
	observe bool     // its document only observes
	act.Manifest
}

// Manifest returns what a tool may use, by the tool's name in the one form that
// rules match: the manifest of the glob that names most of it. said is false
// when no document says anything of the tool, and m is then the built-in
// default. Its lists belong to the Set and must not be changed.
func (s *Set) Manifest(canonicalTool string) (m act.Manifest, said bool) {
	if m := s.manifests.find(canonicalTool); m != nil {
		return m.Manifest, true
	}
	return defaultManifest, false
}

// Limits names the limits, as they are written in JSON, that a document gives a
// tool by its name or a glob other than "*", and does not call advisory.
func (s *Set) Limits(canonicalTool string) (limits []string) {
	m := s.manifests.find(canonicalTool)
	if m == nil || m.glob == "*" {
		return nil
	}
	for _, limit := range m.given {
		if !slices.Contains(m.Advisory, limit) {
			limits = append(limits, limit)
		}
	}
	return limits
}

// manifests are those of all documents.
type manifests struct {
	exact map[string]*manifest
	globs []*manifest // the most specific first
}

func (s *manifests) add(d *document) {
	for _, m := range d.manifests {
		if had := s.exact[m.glob]; had != nil {
			d.at(m.at, "", "the manifest of %q is also given in %s:%d", m.glob, had.file, had.at.Line)
			continue
		}
		if s.exact == nil {
			s.exact = map[string]*manifest{}
		}
		s.exact[m.glob] = m
	}
}

// settle sorts out the globs, once all are known.
func (s *manifests) settle() {
	for glob, m := range s.exact {
		if isGlob(glob) {
			s.globs = append(s.globs, m)
			delete(s.exact, glob) // a tool can be called "*", but not mean it
		}
	}
	slices.SortFunc(s.globs, func(a, b *manifest) int {
		return cmp.Or(b.literal-a.literal, len(a.glob)-len(b.glob), strings.Compare(a.glob, b.glob))
	})
}

var manifestKeys = []string{
	"max_memory_mb", "max_cpu_percent", "timeout_seconds", "network_allowed", "filesystem_scope", "filesystem_read",
	"max_write_mb", "max_write_files",
	"allowed_domains", "blocked_domains", "blocked_patterns", "advisory",
}

// Limits of a manifest's numbers: a terabyte, a thousand CPUs, a month.
const (
	maxMemoryMB    = 1 << 20
	maxCPUPercent  = 100_000
	maxTimeout     = 30 * 24 * 60 * 60
	maxWriteMB     = 1 << 30 // a petabyte
	maxWriteFiles  = 1_000_000_000
	maxManifestSay = 1000 // entries of one list
)

func (d *document) readManifests(n *node) {
	if n == nil || n.Kind == rawjson.Null {
		return
	}
	if n.Kind != rawjson.Object {
		d.at(n, `write manifests: { "*": {timeout_seconds: 30} }`, "manifests is a mapping of tools' names to manifests, not %s", n.Is())
		return
	}
	for _, entry := range n.Members {
		m := &manifest{file: d.file, at: &node{Line: entry.Line, Column: entry.Column}, observe: d.observe, Manifest: defaultManifest}
		if m.glob, _ = canon.Name(entry.Name); m.glob == "" {
			d.at(m.at, `"*" stands for every tool`, "%q names no tool", entry.Name)
			continue
		}
		for _, c := range m.glob {
			if c != '*' && c != '?' {
				m.literal++
			}
		}
		d.readManifest(m, entry.Value)
		d.manifests = append(d.manifests, m)
	}
}

func (d *document) readManifest(m *manifest, n *node) {
	if n.Kind != rawjson.Object {
		d.at(n, "write {timeout_seconds: 30, …}", "a manifest is a mapping, not %s", n.Is())
		return
	}
	d.known(n, manifestKeys, "a manifest")
	for _, key := range manifestKeys[:len(manifestKeys)-1] {
		if n.Get(key) != nil {
			m.given = append(m.given, key)
		}
	}
	d.amount(n, "max_memory_mb", maxMemoryMB, &m.MaxMemoryMB)
	d.amount(n, "max_cpu_percent", maxCPUPercent, &m.MaxCPUPercent)
	d.amount(n, "timeout_seconds", maxTimeout, &m.TimeoutSeconds)
	if v := n.Get("network_allowed"); v != nil {
		if v.Kind != rawjson.Bool {
			d.at(v, "write true or false", "network_allowed is true or false, not %s", v.Is())
		}
		m.NetworkAllowed = v.Kind == rawjson.Bool && v.Text == "true"
	}
	scope := absolutePath
	if isConstitution(d.file) { // which is often written for a working directory
		scope = notEmpty
	}
	m.FilesystemScope = d.entries(n, "filesystem_scope", scope)
	m.FilesystemRead = d.entries(n, "filesystem_read", absolutePath)
	d.amount(n, "max_write_mb", maxWriteMB, &m.MaxWriteMB)
	d.amount(n, "max_write_files", maxWriteFiles, &m.MaxWriteFiles)
	m.AllowedDomains = d.entries(n, "allowed_domains", domainName)
	m.BlockedDomains = d.entries(n, "blocked_domains", domainName)
	m.BlockedPatterns = d.entries(n, "blocked_patterns", notEmpty)
	limits := manifestKeys[:len(manifestKeys)-1]
	m.Advisory = d.entries(n, "advisory", func(s string) (problem, hint string) {
		if !slices.Contains(limits, s) {
			return "is no limit of a manifest", didYouMean(s, limits)
		}
		return "", ""
	})
	slices.Sort(m.Advisory)
	m.Advisory = slices.Compact(m.Advisory)
	if v := n.Get("allowed_domains"); len(m.AllowedDomains) > 0 && !m.NetworkAllowed {
		d.at(v, "add network_allowed: true", "domains are allowed, and the network is not")
	}
}

// amount reads a whole number of at least one.
func (d *document) amount(n *node, key string, most int, to *int) {
	v := n.Get(key)
	if v == nil {
		return
	}
	i, err := strconv.Atoi(v.Text)
	if v.Kind != rawjson.Number || err != nil || i < 1 || i > most {
		d.at(v, "to forbid a tool, write a rule with effect: deny", "%s is a whole number from 1 to %d", key, most)
		return
	}
	*to = i
}

// entries reads a list of texts, each of which check accepts.
func (d *document) entries(n *node, key string, check func(string) (problem, hint string)) (texts []string) {
	v := n.Get(key)
	if v == nil {
		return nil
	}
	if v.Kind != rawjson.Array {
		d.at(v, `write ["…"]`, "%s is a list of texts, not %s", key, v.Is())
		return nil
	}
	if len(v.Items) > maxManifestSay {
		d.at(v, "", "%s has more than %d entries", key, maxManifestSay)
		return nil
	}
	for _, item := range v.Items {
		if item.Kind != rawjson.String {
			d.at(item, "quote it", "%s is a list of texts; this is %s", key, item.Is())
			continue
		}
		if problem, hint := check(item.Text); problem != "" {
			d.at(item, hint, "%s: %q %s", key, item.Text, problem)
			continue
		}
		texts = append(texts, item.Text)
	}
	return texts
}

func notEmpty(s string) (problem, hint string) {
	switch {
	case strings.TrimSpace(s) == "":
		return "is empty", "every argument would hold it"
	case len(s) > maxReason:
		return fmt.Sprintf("is longer than %d bytes", maxReason), ""
	}
	return "", ""
}

var drive = lazyregexp.New(`^[A-Za-z]:[\\/]`)

func absolutePath(s string) (problem, hint string) {
	if problem, hint := notEmpty(s); problem != "" {
		return problem, hint
	}
	switch {
	case !strings.HasPrefix(s, "/") && !drive.MatchString(s):
		return "is not an absolute path", "write it in full, such as /workspace/**"
	case slices.Contains(strings.FieldsFunc(s, func(c rune) bool { return c == '/' || c == '\\' }), ".."):
		return "climbs with ..", "write the path that is meant"
	}
	return "", ""
}

func domainName(s string) (problem, hint string) {
	if labels := strings.Split(strings.TrimPrefix(s, "*."), "."); len(s) <= 253 && !slices.ContainsFunc(labels, notLabel) {
		return "", ""
	}
	if _, err := netip.ParseAddr(s); err == nil {
		return "", ""
	}
	if _, err := netip.ParsePrefix(s); err == nil {
		return "", ""
	}
	return "is not a host's name", "write the name alone, such as example.com or *.example.com"
}

// notLabel reports whether a text is no part of a host's name between dots.
func notLabel(s string) bool {
	return s == "" || s[0] == '-' || s[len(s)-1] == '-' || strings.ContainsFunc(s, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsNumber(c) && c != '_' && c != '-'
	})
}

const maxConditions = 20 // of one rule

// readConditions reads the sentences under which a rule lets an act pass.
func (d *document) readConditions(r *rule, n *node) {
	v := n.Get("conditions")
	if v == nil {
		return
	}
	if r.effect != act.Allow && r.effect != act.Modify {
		d.at(v, "use reason: to say why", "conditions need effect: allow or modify")
		return
	}
	for _, w := range d.words(v, "conditions") {
		text := d.textOf(w, "a condition")
		if text == "" {
			d.at(w, "", "a condition is empty")
		}
		r.conditions = append(r.conditions, text)
	}
	if len(r.conditions) > maxConditions {
		d.at(v, "", "a rule has at most %d conditions", maxConditions)
	}
}

// Grants reports whether calls of a tool can be allowed at all: no rule denies
// every one of them, and where the default denies, a rule lets some pass. It is
// for telling an agent beforehand; a verdict has the last word.
func (s *Set) Grants(canonicalTool string) bool {
	in := &Input{Action: &act.Action{Kind: act.ToolCall, Canonical: canonicalTool}}
	allowed := s.effect != act.Deny || s.observe
	for _, r := range s.index.candidates(nil, in) {
		switch {
		case r.observe:
		case r.effect == act.Deny && r.when == nil && r.detect == 0 && r.hazard == 0:
			return false
		case r.effect == act.Allow && r.change.kind != mark, r.effect == act.Escalate:
			allowed = true
		}
	}
	return allowed
}
