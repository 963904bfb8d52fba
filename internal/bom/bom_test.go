package bom

import (
	"bytes"
	std "cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/export"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/needs"
	"reeve.example/reeve/internal/store/sqlite"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var start = time.Date(2027, 3, 1, 12, 30, 0, 0, time.UTC)

// hostile are names that an agent may bear, and what it has.
var hostile = []string{
	"plain", "", " ", `"}],"components":[{"name":"injected`, `"@id": "https://evil.example"`, "@context", "_:creation", "urn:uuid:x#agent", `</Resource><Resource type="tool" name="injected"/>`,
	"<!DOCTYPE x [<!ENTITY e SYSTEM \"file:///etc/passwd\">]>&e;", "a\x00b\x1b[2Jc", "evil\u202egnp.exe", "\u2066x\u2069", "admіn", "\xff\xfe", "\ufffe\uffff", "line\nbreak\r\n", strings.Repeat("long", 1<<18), strings.Repeat("\u202e", 300),
	"https://spdx.org/rdf/3.0.1/spdx-context.jsonld", "]]>", "${jndi:ldap://x}", "=1+1",
}

// shortened are they as bills have them.
var shortened = func() (list []string) {
	for _, s := range hostile {
		list = append(list, cut(s))
	}
	return list
}()

// random makes what records tell of one agent, some of it hostile.
func random(r *rand.Rand, n int) (list []*sight) {
	pick := func() string { return shortened[r.IntN(len(shortened))] }
	name := func() string {
		if r.IntN(3) == 0 {
			return pick()
		}
		return fmt.Sprintf("name-%d", r.IntN(20))
	}
	form := func(span Span) Form {
		return Form{Title: pick(), Supplier: pick(), Version: fmt.Sprint(r.IntN(3)), Hash: strings.Repeat(fmt.Sprintf("%02x", r.IntN(4)), 32), Span: span}
	}
	for range n {
		when := start.Add(time.Duration(r.IntN(40*24*3600)) * time.Second)
		s := &sight{at: when, agent: "a", principal: "key:a", listed: map[string]time.Time{}, policy: Form{Hash: fmt.Sprint("policy-", r.IntN(maxForms)), Span: at(when)}}
		s.self.Said = at(when)
		own := form(at(when))
		own.Title, own.Supplier = "", "" // of no more forms than are remembered
		s.self.form(own)
		for range r.IntN(6) {
			c := &Component{Type: types[r.IntN(len(types))], Name: name()}
			if c.Name == "" {
				continue
			}
			switch r.IntN(4) {
			case 0:
				c.Seen = at(when)
			case 1:
				c.Gone = exactly(when)
			default:
				c.Said = at(when)
				c.form(form(at(when)))
			}
			if c.Type == Tool && r.IntN(2) == 0 {
				c.Server = name()
			}
			s.components = append(s.components, c)
		}
		if r.IntN(3) == 0 {
			s.listed[listOf(types[r.IntN(len(types))], "")] = at(when).Last
		}
		list = append(list, s)
	}
	return list
}

func made(list []*sight) *Bill {
	b := &Bill{Agent: "a", Principal: "key:a"}
	var newest time.Time
	for _, s := range list {
		b.take(s)
		newest = later(newest, s.at)
	}
	b.settle(newest)
	b.Serial = "00000000-0000-4000-8000-000000000000"
	return b
}

// TestAnyOrder: a bill is the same in whatever order the records are read, also where some are
// read twice: what is made anew is what was kept.
func TestAnyOrder(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		list := random(r, 60)
		want := made(list)
		again := slices.Concat(list, list[:r.IntN(len(list))])
		r.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
		got := made(again)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (-in order +shuffled):\n%s", seed, diff)
		}
		data, err := got.data()
		if err != nil {
			t.Fatal(err)
		}
		read, err := Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		if read.content() != want.content() || read.settle(start) {
			t.Errorf("seed %d: what is stored has other contents", seed)
		}
	}
}

// TestBounds: however much an agent names, a bill stays small, and keeps what was there first.
func TestBounds(t *testing.T) {
	b := &Bill{Agent: "a", Principal: "key:a"}
	for i := range 3 * MaxComponents {
		s := &sight{at: start, components: []*Component{{Type: Tool, Name: cut(fmt.Sprintf("%d%s", i, strings.Repeat("x", 1000))), Seen: at(start.Add(time.Duration(i) * time.Second))}}}
		s.components[0].Forms = nil
		for j := range 2 * maxForms {
			s.components[0].form(Form{Version: fmt.Sprint(j), Span: at(start.Add(time.Duration(j) * time.Hour))})
		}
		b.take(s)
	}
	if !b.Full || len(b.Components) != MaxComponents {
		t.Errorf("full %t with %d components", b.Full, len(b.Components))
	}
	if last := b.Components[0].Form().Version; last != fmt.Sprint(2*maxForms-1) || len(b.Components[0].Forms) != maxForms {
		t.Errorf("of many forms the newest is %s", last)
	}
	for _, c := range b.Components {
		if c.First().After(start.Add(MaxComponents * time.Second)) {
			t.Errorf("%.20s pushed out one that was there before", c.Name)
		}
	}
	if data, err := b.data(); err != nil || len(data) > maxBill {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

// TestLong: an agent whose names are as long as can be, and need the most room when they
// are written down, has a bill that can be read again: it loses neither its name nor what
// was there first.
func TestLong(t *testing.T) {
	long := strings.Repeat("\x01", 1000)
	b := &Bill{Agent: "a", Principal: "key:a", Serial: "kept"}
	b.take(&sight{at: start, components: []*Component{{Type: Tool, Name: "first", Seen: at(start)}}})
	for i := range MaxComponents + 10 {
		server := cut(fmt.Sprint(i, long))
		c := &Component{Type: Tool, Name: server, Server: server, Seen: at(start.Add(time.Hour))}
		for j := range maxForms {
			text := cut(fmt.Sprint(j, long))
			c.form(Form{Title: text, Supplier: text, Version: text, Span: at(start.Add(time.Duration(j) * time.Hour))})
		}
		b.take(&sight{at: start, components: []*Component{c}, listed: map[string]time.Time{listOf(Tool, server): start, listOf(Tool, cut(fmt.Sprint("other", i, long))): start}})
	}
	if len(b.Listed) > 2*MaxComponents {
		t.Errorf("%d lists are remembered", len(b.Listed))
	}
	b.settle(start)
	data, err := b.data()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if !again.Full || again.Serial != "kept" || !slices.ContainsFunc(again.Components, func(c *Component) bool { return c.Name == "first" }) {
		t.Errorf("the bill lost what was there first: full %t, serial %q, %d components", again.Full, again.Serial, len(again.Components))
	}
}

// TestVersions: a version is another only if the contents are, and what came, changed and
// went is told with it.
func TestVersions(t *testing.T) {
	b := &Bill{Agent: "a", Principal: "key:a"}
	now := start
	step := func(d time.Duration, wantVersion int, want []string, components ...*Component) {
		t.Helper()
		now = now.Add(d)
		s := &sight{at: now, listed: map[string]time.Time{listOf(Tool, ""): at(now).Last}}
		s.self.Said = at(now)
		for _, c := range components {
			c.Said = at(now)
			for i := range c.Forms {
				c.Forms[i].Span = at(now)
			}
			s.components = append(s.components, c)
		}
		from, _ := b.When(fmt.Sprint(b.Version()), now)
		b.take(s)
		b.settle(now)
		if b.Version() != wantVersion {
			t.Errorf("version %d, want %d", b.Version(), wantVersion)
		}
		got := []string{}
		for _, c := range b.Since(from) {
			got = append(got, c.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	tool := func(name, version string) *Component {
		return &Component{Type: Tool, Name: name, Forms: []Form{{Version: version}}}
	}
	step(0, 1, []string{`came: agent "a"`, `came: tool "a"`, `came: tool "b"`}, tool("a", "1"), tool("b", "1"))
	step(time.Minute, 1, []string{}, tool("a", "1"), tool("b", "1"))
	step(time.Minute, 1, []string{}, tool("a", "1")) // another session, with fewer tools
	step(time.Hour, 2, []string{`changed: tool "a" (version "1" → "2")`}, tool("a", "2"), tool("b", "1"))
	step(time.Hour, 3, []string{`came: tool "c"`}, tool("a", "2"), tool("b", "1"), tool("c", "1"))
	step(3*time.Hour, 4, []string{`went: tool "c"`}, tool("a", "2"), tool("b", "1"))
	if changes := b.Since(start.Add(time.Hour + 30*time.Minute)); len(changes) != 0 {
		t.Errorf("what came and went is told: %v", changes)
	}
	if changes := b.Since(start.Add(2*time.Hour + 5*time.Minute)); len(changes) != 1 || changes[0].What != "went" {
		t.Errorf("what went is not told: %v", changes)
	}
	step(time.Minute, 5, []string{}, tool("a", "2"), tool("b", "1"), tool("c", "1")) // it is back
}

// schema is an official schema of testdata.
func schema(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.UseRegexpEngine(regexps)
	files, _ := filepath.Glob("testdata/*.schema.json")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource("http://cyclonedx.org/schema/"+filepath.Base(file), doc); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Compile("http://cyclonedx.org/schema/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// regexps compiles the patterns of schemas. One of SPDX's needs what Go's do not have: an IRI
// that is no blank node.
func regexps(pattern string) (jsonschema.Regexp, error) {
	if rest, ok := strings.CutPrefix(pattern, "^(?!_:)"); ok {
		re, err := regexp.Compile("^" + rest)
		return noBlank{re}, err
	}
	re, err := regexp.Compile(pattern)
	return re, err
}

type noBlank struct{ *regexp.Regexp }

func (n noBlank) MatchString(s string) bool {
	return !strings.HasPrefix(s, "_:") && n.Regexp.MatchString(s)
}

var schemas = map[Format]string{
	CycloneDX16: "bom-1.6.SNAPSHOT.schema.json", CycloneDX17: "bom-1.7.SNAPSHOT.schema.json", SPDX301: "spdx-3.0.1.schema.json",
}

// openLog is a log with a few records.
func openLog(t testing.TB) (*ledger.Log, *Proof) {
	t.Helper()
	store, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log, err := ledger.Open(t.Context(), ledger.Config{Store: store, Origin: "test", Seed: make([]byte, 32), Owner: "one"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		log.Close()
		store.Close()
	})
	ticket, err := log.Enqueue(log.Generation(), &ledger.Entry{Record: ledger.Record{Kind: "tool.call", Effect: "allow"}})
	if err == nil {
		_, err = ticket.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	head, err := store.Head(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return log, &Proof{Log: "test", Key: log.VerifierKey(), Checkpoint: head.Checkpoint, Record: "0-0", Version: "v1.0.0", Now: start}
}

// TestDocuments: whatever an agent calls itself and its parts, documents are valid by the
// official schemas, say each component once, and hold no character that is not seen.
func TestDocuments(t *testing.T) {
	log, proof := openLog(t)
	compiled := map[Format]*jsonschema.Schema{}
	for format, name := range schemas {
		compiled[format] = schema(t, name)
	}
	bills := []*Bill{made(nil)}
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 2))
		b := made(random(r, 15))
		b.Agent = std.Or(shortened[r.IntN(len(shortened))], "agent")
		b.Self.Name = b.Agent
		bills = append(bills, b)
	}
	for i, b := range bills {
		if b.Self.Name == "" {
			b.Self.Name, b.Self.Type = "a", Self
		}
		for _, format := range Formats {
			document, statement, err := b.Sign(format, proof, log)
			if err != nil {
				t.Fatalf("bill %d, %s: %v", i, format, err)
			}
			if strings.ContainsAny(string(document), "\x00\x1b\u202e\u2066\ufffe") {
				t.Errorf("bill %d, %s: it holds characters that are not seen", i, format)
			}
			n := 0
			for _, c := range b.Components {
				if _, gone := b.IsGone(c); !gone {
					n++
				}
			}
			switch format {
			case SWID:
				if got := swidResources(t, document); got != n {
					t.Errorf("bill %d: SWID has %d resources, want %d", i, got, n)
				}
			default:
				doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
				if err != nil {
					t.Fatal(err)
				}
				if err := compiled[format].Validate(doc); err != nil {
					t.Fatalf("bill %d, %s: %v\n%s", i, format, err, document)
				}
				if got := elements(doc.(map[string]any)); got != n {
					t.Errorf("bill %d, %s: it has %d components, want %d", i, format, got, n)
				}
			}
			if _, err := Verify(document, statement, proof.Key); err != nil {
				t.Errorf("bill %d, %s: %v", i, format, err)
			}
		}
	}
}

// elements counts the components of a document.
func elements(doc map[string]any) int {
	list := func(name string) []any { l, _ := doc[name].([]any); return l }
	if graph := list("@graph"); graph != nil {
		n := 0
		for _, e := range graph {
			if _, is := e.(map[string]any)["software_primaryPurpose"]; is {
				n++
			}
		}
		return n - 1 // the agent
	}
	return len(list("components")) + len(list("services"))
}

// swidResources counts the resources of a SWID tag, which must be well-formed.
func swidResources(t *testing.T, document []byte) (n int) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(document))
	d.Strict = true
	for {
		token, err := d.Token()
		if token == nil {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		seen := map[string]bool{}
		for _, a := range e.Attr {
			if name := a.Name.Space + a.Name.Local; seen[name] {
				t.Errorf("the attribute %s is there twice", name)
			} else {
				seen[name] = true
			}
		}
		if e.Name.Local == "Resource" {
			n++
		}
	}
	return n
}

// TestValidators: the official validators of CycloneDX and SPDX take the documents, too.
func TestValidators(t *testing.T) {
	log, proof := openLog(t)
	dir := t.TempDir()
	for i, seed := range []uint64{1, 2} {
		b := made(random(rand.New(rand.NewPCG(seed, 2)), 40))
		for _, format := range []Format{CycloneDX16, CycloneDX17, SPDX301} {
			document, _, err := b.Sign(format, proof, log)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.json", format, i)), document, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	out, err := exec.Command(needs.Python(t, "bom"), "testdata/validate.py", dir).CombinedOutput()
	if err != nil || strings.Count(string(out), " is valid\n") != 6 {
		t.Errorf("%v:\n%s", err, out)
	}
}

// TestVerify: what was changed, signed by another, or left out is told.
func TestVerify(t *testing.T) {
	log, proof := openLog(t)
	other, err := ledger.VerifierKey("test", bytes.Repeat([]byte{1}, 32), 0)
	if err != nil {
		t.Fatal(err)
	}
	b := made(random(rand.New(rand.NewPCG(3, 3)), 20))
	for _, format := range Formats {
		document, statement, err := b.Sign(format, proof, log)
		if err != nil {
			t.Fatal(err)
		}
		v, err := Verify(document, statement, proof.Key)
		if err != nil || v.Version != 1 || v.Size != 1 || v.Serial != b.Serial || v.Agent != "a" || v.Format != format {
			t.Errorf("%s: %+v, %v", format, v, err)
		}
		refused := func(what string, document, statement []byte, key string) {
			t.Helper()
			if v, err := Verify(document, statement, key); err == nil {
				t.Errorf("%s, %s: it holds: %+v", format, what, v)
			}
		}
		refused("another key", document, statement, other)
		signed := &document
		if statement != nil {
			signed = &statement
			refused("no statement", document, nil, proof.Key)
			refused("another document", append(slices.Clone(document), ' '), statement, proof.Key)
		}
		for _, change := range [][2]string{
			{"name-1", "name-9"}, {`"version": 1`, `"version": 2`}, {`"kty": "OKP"`, `"kty": "OKP", "kid": "x"`}, {`"algorithm": "Ed25519"`, `"algorithm": "Ed25519", "excludes": ["components"]`},
			{`"algorithm": "Ed25519"`, `"algorithm": "HS256"`}, {`"signature": {`, `"signature": {}, "_": {`}, {`{`, `{"version": 7,`}, {`"bomFormat": "CycloneDX"`, `"bomFormat": "Other"`},
			{`"value": "`, `"value": "\n`},
		} {
			if changed := bytes.Replace(*signed, []byte(change[0]), []byte(change[1]), 1); !bytes.Equal(changed, *signed) {
				if statement != nil {
					refused(change[1], document, changed, proof.Key)
				} else {
					refused(change[1], changed, nil, proof.Key)
				}
			}
		}
		// Every byte of what is signed counts, but for spaces between members.
		r := rand.New(rand.NewPCG(4, 4))
		for range 300 {
			changed := slices.Clone(*signed)
			i := r.IntN(len(changed))
			if c := changed[i]; c == ' ' || c == '\n' {
				continue
			}
			changed[i] ^= 1 << r.IntN(5)
			if sameJSON(changed, *signed) {
				continue
			}
			if statement != nil {
				refused(fmt.Sprintf("byte %d", i), document, changed, proof.Key)
			} else {
				refused(fmt.Sprintf("byte %d", i), changed, nil, proof.Key)
			}
		}
	}
	// A checkpoint of another log, and one that was changed, in a bill that is signed.
	for _, checkpoint := range []string{"", "test\n1\nAAAA\n", strings.Replace(string(proof.Checkpoint), "\n1\n", "\n2\n", 1)} {
		p := *proof
		p.Checkpoint = []byte(checkpoint)
		for _, format := range Formats {
			document, statement, err := b.Sign(format, &p, log)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Verify(document, statement, proof.Key); err == nil {
				t.Errorf("%s holds with the checkpoint %q", format, checkpoint)
			}
		}
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
}

func FuzzParse(f *testing.F) {
	data, err := made(random(rand.New(rand.NewPCG(1, 1)), 20)).data()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"agent":"a","principal":"p","components":[{"type":"tool","name":"x"},{"type":"tool","name":"x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Parse(data)
		if err != nil {
			return
		}
		b.settle(start)
		b.Report(start)
		for _, format := range Formats {
			if _, err := b.Document(format, &Proof{Now: start}); err != nil {
				t.Errorf("%s: %v", format, err)
			}
		}
	})
}

func FuzzDescribes(f *testing.F) {
	f.Add([]byte(`{"name":"A","id":"a","tools":[{"id":"t","name":"T"}],"model":{"id":"m","provider":{"name":"P"}},"mcpServers":[{"name":"s","version":"1"}],"resources":[{"id":"r"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s := describes(raw)
		b := made([]*sight{s})
		if len(b.Components) > MaxComponents {
			t.Errorf("%d components", len(b.Components))
		}
		if data, err := b.data(); err != nil {
			t.Error(err)
		} else if _, err := Parse(data); err != nil {
			t.Error(err)
		}
	})
}

func FuzzVerify(f *testing.F) {
	log, proof := openLog(f)
	b := made(random(rand.New(rand.NewPCG(1, 1)), 5))
	document, _, err := b.Sign(CycloneDX16, proof, log)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(document, []byte(nil))
	swid, statement, err := b.Sign(SWID, proof, log)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(swid, statement)
	f.Fuzz(func(t *testing.T, d, s []byte) {
		if len(s) == 0 {
			s = nil
		}
		if _, err := Verify(d, s, proof.Key); err == nil && !sameJSON(d, document) && !bytes.Equal(d, swid) {
			t.Errorf("what nobody signed holds: %s %s", d, s)
		}
	})
}

// TestReadWaits: who asks while the bills are being read waits no longer than it wants to.
func TestReadWaits(t *testing.T) {
	k := &Keeper{reading: make(chan struct{}, 1)}
	k.reading <- struct{}{} // somebody reads
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// declares is what a record tells of a bill that an agent says, by ACS.
func declares(t *testing.T, when time.Time, method, payload string) *sight {
	t.Helper()
	links, err := jsonv2.Marshal(ledger.ActLinks{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	s := new(reader).read(&export.Record{
		Record:  ledger.Record{Time: when, Kind: string(act.AgentEvent), Effect: act.Allow.String()},
		Facts:   ledger.Facts{Agent: "a", Principal: "key:a"},
		Opening: ledger.Opening{Request: []byte(`{"method":"` + method + `","params":{"payload":` + payload + `}}`), Links: links},
	})
	if s == nil {
		t.Fatalf("%s tells nothing", payload)
	}
	return s
}

// TestDeclares: what an agent says in a bill of its own (ACS agbom/snapshot, agbom/changed) is
// in its bill, also of a type that is not known here, and only what is whole says what there
// is no more.
func TestDeclares(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	many := make([]string, 2*maxOfOne+1)
	for i := range many {
		many[i] = fmt.Sprintf(`{"type":"tool","id":"t%d"}`, i)
	}
	for name, c := range map[string]struct {
		method, payload string
		want            []string // of what is there: its type, server, name and hash
		gone            []string
		full            bool
	}{
		"a snapshot": {
			"agbom/snapshot", `{"components":[{"type":"model","id":"m","name":"Model M","version":"2","provider":{"name":"P"}},{"component_type":"skill","skill_id":"pdf","digest":{"algorithm":"SHA-256","value":"` + sum + `"}},{"type":"tool","id":"read","mcp_server":"files","digest":"sha256:` + sum + `"}]}`,
			[]string{"model  m 2", "tool files read  abab", "skill  pdf  abab"}, []string{"tool  old"}, false,
		},
		"within another object":    {"agbom/snapshot", `{"agbom":{"components":[{"type":"memory_store","id":"notes"}]}}`, []string{"memory_store  notes"}, []string{"tool  old"}, false},
		"nothing":                  {"agbom/snapshot", `{"components":[]}`, nil, []string{"tool  old"}, false},
		"no list":                  {"agbom/snapshot", `{"components":{"type":"tool","id":"x"}}`, []string{"tool  old"}, nil, false},
		"no member":                {"agbom/snapshot", `{}`, []string{"tool  old"}, nil, false},
		"types that nobody knows":  {"agbom/snapshot", `{"components":[{"type":"prompt_template","id":"greeting"},{"type":"Tool","id":"x"},{"id":"typeless"},{"type":"robot"}]}`, []string{"other  Tool x", "other  prompt_template greeting", "other  robot", "other  typeless"}, []string{"tool  old"}, false},
		"more than is read of one": {"agbom/snapshot", `{"components":[` + strings.Join(many, ",") + `]}`, []string{"tool  old"}, nil, true},
		"came":                     {"agbom/changed", `{"added":[{"type":"tool","id":"new"}]}`, []string{"tool  new", "tool  old"}, nil, false},
		"went":                     {"agbom/changed", `{"removed":[{"type":"tool","id":"old"}]}`, nil, []string{"tool  old"}, false},
		"went, of another server":  {"agbom/changed", `{"removed":[{"type":"tool","id":"old","server":"s"}]}`, []string{"tool  old"}, []string{"tool s old"}, false},
		"changed":                  {"agbom/changed", `{"changed":[{"before":{"type":"tool","id":"old","version":"1"},"component":{"type":"tool","id":"old","version":"2"}}]}`, []string{"tool  old 2"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := &Bill{Agent: "a", Principal: "key:a"}
			b.take(declares(t, start, "agbom/snapshot", `{"components":[{"type":"tool","id":"old"}]}`))
			b.take(declares(t, start.Add(2*quiet), c.method, c.payload))
			var there, gone []string
			for _, one := range b.Components {
				f := one.Form()
				text := strings.TrimRight(fmt.Sprintf("%s %s %s %s %.4s", one.Type, one.Server, one.Name, f.Version, map[bool]string{true: f.Hash}[f.Hash == sum]), " ")
				if _, is := b.IsGone(one); is {
					gone = append(gone, text)
				} else if !c.full || one.Name == "old" {
					there = append(there, text)
				}
			}
			slices.Sort(there)
			slices.Sort(c.want)
			if !slices.Equal(there, c.want) || !slices.Equal(gone, c.gone) || b.Full != c.full {
				t.Errorf("there %q, want %q; gone %q, want %q; full %t", there, c.want, gone, c.gone, b.Full)
			}
			if data, err := b.data(); err != nil {
				t.Error(err)
			} else if _, err := Parse(data); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestListedInPart: of a description that names more than is read of one, nobody says that
// what it does not name is undeclared, or gone.
func TestListedInPart(t *testing.T) {
	tools := make([]string, maxOfOne+10)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"id":"t%d"}`, i)
	}
	for name, n := range map[string]int{"whole": maxOfOne, "in part": len(tools)} {
		s := describes([]byte(`{"name":"a","tools":[` + strings.Join(tools[:n], ",") + `]}`))
		if _, listed := s.listed[listOf(Tool, "")]; listed != (n == maxOfOne) || s.cut == listed {
			t.Errorf("%s: listed %t, cut %t", name, listed, s.cut)
		}
	}
}
