package ledger

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func TestRecordForm(t *testing.T) {
	r := Record{
		Kind: "tool.call", Door: "aos", Effect: "allow", Observed: "deny", Codes: []string{"a", "b\n\"\\\x01é"}, Rules: []string{"r"},
		Policy: "sha256:00", Commitments: [fields]Commitment{Principal: {1}},
	}
	at := time.Date(2026, 11, 21, 9, 41, 0, 5000, time.UTC)
	b := appendRecordTail(appendRecordHead(nil, act.Position{Log: 3, Index: 42}, at.UnixMicro()), &r)
	want := `{"v":1,"log":3,"index":42,"time":"2026-11-21T09:41:00.000005Z","kind":"tool.call","door":"aos","effect":"allow",` +
		`"would":"deny","codes":["a","b\u000a\"\\\u0001é"],"rules":["r"],"policy":"sha256:00",` +
		`"principal":"AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}`
	if diff := cmp.Diff(want, string(b)); diff != "" {
		t.Fatalf("record (-want +got):\n%s", diff)
	}
	got, err := ParseRecord(b)
	if err != nil {
		t.Fatal(err)
	}
	r.Log, r.Index, r.Time = 3, 42, at
	if diff := cmp.Diff(r, got); diff != "" {
		t.Errorf("parsed (-want +got):\n%s", diff)
	}
	for _, bad := range []string{
		"", "{}", want + " ", want + "\n", strings.Replace(want, `"v":1`, `"v":2`, 1), strings.Replace(want, `{"v":1`, `{ "v":1`, 1),
		strings.Replace(want, `"log":3,"index":42`, `"index":42,"log":3`, 1), strings.Replace(want, `000005Z`, `000005+00:00`, 1),
		strings.Replace(want, `,"door"`, `,"extra":1,"door"`, 1), strings.Replace(want, `é`, `\u00e9`, 1),
		strings.Replace(want, `"door":"aos"`, `"door":"aos","door":"aos"`, 1), strings.Replace(want, "AQAA", "AR==", 1),
	} {
		if _, err := ParseRecord([]byte(bad)); err == nil {
			t.Errorf("ParseRecord(%q) accepts it", bad)
		}
	}
}

// Whatever the names in a policy are, a record is made, and can be read.
func TestRecordAlwaysFits(t *testing.T) {
	long := strings.Repeat("\x01", 5000)
	list := make([]string, 10000)
	for i := range list {
		list[i] = long
	}
	e := &Entry{Record: Record{Kind: long, Door: "\xff\xfe" + long, Effect: long, Observed: long, Policy: long, Codes: list, Rules: list, Time: time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)},
		Request: []byte{}, Modified: []byte{}, Principal: []byte{}, Reasons: []byte{}, Links: []byte{}}
	ticket, err := prepare(e, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	b := append(appendRecordHead(nil, act.Position{Log: 1<<32 - 1, Index: 1<<63 - 1}, ticket.time), ticket.tail...)
	r, err := ParseRecord(b)
	if err != nil {
		t.Fatalf("%d bytes: %v", len(b), err)
	}
	if last := r.Codes[len(r.Codes)-1]; last != fmt.Sprintf("… %d more", len(list)-len(r.Codes)+1) {
		t.Errorf("the last code is %q", last)
	}
	if r.Commitments[Links] == (Commitment{}) || !strings.HasSuffix(r.Kind, "…") {
		t.Error("an empty field has no commitment, or a long name no mark")
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(`{"v":1,"log":0,"index":0,"time":"2026-11-21T09:41:00.000005Z","kind":"tool.call","codes":["a"]}`))
	f.Add([]byte(`{"v":1,"log":0,"index":0,"time":"2026-11-21T09:41:00.000005Z","kind":""}`))
	f.Add([]byte(`{"v":1,"log":7,"index":18446744073709551615,"time":"2026-11-21T09:41:00.000005Z","kind":"tool.call","door":"a\\b","effect":"deny","would":"allow","rules":["x","y z"],"policy":"sha256:0"}`))
	full := Record{Log: 3, Index: 17, Time: time.UnixMicro(1_800_000_000_000_000).UTC(), Kind: "tool.call", Door: "aos", Effect: "modify", Observed: "deny", Codes: []string{"a", "b"}, Rules: []string{"no-secrets"}, Policy: "sha256:1"}
	for i := range full.Commitments {
		full.Commitments[i] = commitTo([]byte("salt"), []byte{byte(i)})
	}
	f.Add(appendRecordTail(appendRecordHead(nil, act.Position{Log: 3, Index: 17}, full.Time.UnixMicro()), &full))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ParseRecord(b)
		slow, wrong := decodeRecord(b)
		if scanned, ok := scanRecord(string(b)); ok && err == nil && (wrong != nil || !reflect.DeepEqual(scanned, slow)) {
			t.Errorf("%q is read as %+v, and by a decoder as %+v, %v", b, scanned, slow, wrong)
		}
		if err != nil {
			return
		}
		again := appendRecordTail(appendRecordHead(nil, act.Position{Log: r.Log, Index: r.Index}, r.Time.UnixMicro()), &r)
		if !bytes.Equal(again, b) {
			t.Errorf("read %q, which is written as %q", b, again)
		}
	})
}

func TestCommitmentIsHMAC(t *testing.T) {
	for _, n := range []int{0, 1, 55, 56, 63, 64, 65, 5000} {
		salt, content := bytes.Repeat([]byte{7}, saltSize), bytes.Repeat([]byte{9}, n)
		h := hmac.New(sha256.New, salt)
		h.Write(content)
		if got := commitTo(salt, content); !bytes.Equal(got[:], h.Sum(nil)) {
			t.Errorf("%d bytes: not the HMAC", n)
		}
	}
}

func TestOpeningForm(t *testing.T) {
	shared := bytes.Repeat([]byte("agent "), 100)
	for name, spans := range map[string][][2]int{
		"none": nil, "start": {{0, 600}}, "middle": {{100, 400}}, "end": {{10, 600}}, "two": {{0, 200}, {200, 500}},
		"too short": {{5, 20}}, "out of order": {{300, 500}, {0, 200}}, "beyond": {{0, 601}}, "backwards": {{500, 100}}, "negative": {{-5, 300}},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Entry{Request: shared, Principal: []byte("p"), Links: []byte{}, KeepContent: true, Shared: spans}
			ticket, err := prepare(e, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			o, err := parseOpening(ticket.opening, partOf(ticket.parts))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Opening{Request: shared}, openingOf(&o)); diff != "" {
				t.Errorf("contents (-want +got):\n%s", diff)
			}
			if o, err = parseOpening(ticket.facts, noParts); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Opening{Principal: []byte("p"), Links: []byte{}}, openingOf(&o)); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}

func partOf(parts []Part) func([32]byte) ([]byte, error) {
	return func(h [32]byte) ([]byte, error) {
		for _, p := range parts {
			if p.Hash == h {
				return p.Data, nil
			}
		}
		return nil, ErrNotFound
	}
}

// Contents that are not to be kept are committed to, and never stored.
func TestContentNotKept(t *testing.T) {
	ticket, err := prepare(&Entry{Request: []byte("secret request"), Modified: []byte("secret change"), Reasons: []byte("why"), Shared: [][2]int{{0, 14}}}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(ticket.opening, []byte("secret")) || len(ticket.parts) > 0 || !bytes.Contains(ticket.opening, []byte("why")) {
		t.Errorf("opening %q with %d parts", ticket.opening, len(ticket.parts))
	}
	for _, name := range []string{"request", "modified", "reasons"} {
		if !bytes.Contains(ticket.tail, []byte(`"`+name+`":"`)) {
			t.Errorf("no commitment to %s in %s", name, ticket.tail)
		}
	}
}

// Many references to one large part must not fill the memory.
func TestOpeningIsBounded(t *testing.T) {
	zeros := make([]byte, 1<<20)
	part := Part{Hash: sha256.Sum256(zeros), Data: zeros}
	bomb := append([]byte{openingVersion, 1}, make([]byte, saltSize)...)
	bomb = binary.AppendUvarint(bomb, 1<<20)
	for range 1 << 15 {
		bomb = binary.AppendUvarint(bomb, 1<<21|1)
		bomb = append(bomb, part.Hash[:]...)
	}
	if _, err := parseOpening(append(bomb, 0), partOf([]Part{part})); err == nil {
		t.Error("an opening of 32 GiB is read")
	}
}

func FuzzOpening(f *testing.F) {
	ticket, err := prepare(&Entry{Request: bytes.Repeat([]byte("x"), 300), Principal: []byte("p"), KeepContent: true, Shared: [][2]int{{10, 290}}}, time.Now)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bytes.Clone(ticket.opening))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := parseOpening(b, partOf(ticket.parts))
		if err != nil {
			return
		}
		size := 0
		for _, field := range o {
			size += len(field.content)
		}
		if size > maxOpening {
			t.Errorf("an opening of %d bytes", size)
		}
	})
}

// The tree grown leaf by leaf is the one that golang.org/x/mod/sumdb/tlog
// makes, at every size.
func TestFrontier(t *testing.T) {
	var hashes []tlog.Hash
	read := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, x := range indexes {
			out[i] = hashes[x]
		}
		return out, nil
	})
	var f, byTile frontier
	var nodes, tileNodes []Node
	const size = 256*256 + 300
	for n := range int64(size) {
		data := []byte{byte(n), byte(n >> 8), byte(n >> 16)}
		h, err := tlog.StoredHashes(n, data, read)
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, h...)
		nodes = f.add(hashLeaf(append([]byte{0}, data...)), nodes)
		if n+1 > 600 && (n+1)%4099 != 0 && n+1 != size {
			continue
		}
		want, err := tlog.TreeHash(n+1, read)
		if err != nil {
			t.Fatal(err)
		}
		if f.root() != want {
			t.Fatalf("root of %d records", n+1)
		}
	}
	for _, n := range nodes {
		if want := hashes[tlog.StoredHashIndex(8*n.Level, int64(n.N))]; n.Hash != want {
			t.Errorf("node %d of level %d", n.N, n.Level)
		}
		if n.Level == 1 {
			tileNodes = byTile.addTile(n.Hash, tileNodes)
		}
	}
	if len(nodes) != 257+1 {
		t.Errorf("%d nodes, not 258", len(nodes))
	}
	if diff := cmp.Diff([]Node{{Level: 2, N: 0, Hash: hashes[tlog.StoredHashIndex(16, 0)]}}, tileNodes); diff != "" {
		t.Errorf("nodes over tiles (-want +got):\n%s", diff)
	}
	empty := frontier{}
	if want, _ := tlog.TreeHash(0, read); empty.root() != want {
		t.Error("root of the empty tree")
	}
}

func TestCheckpointForm(t *testing.T) {
	seed := bytes.Repeat([]byte{1}, 32)
	s, err := newSigner("example.org/audit", seed, 2)
	if err != nil {
		t.Fatal(err)
	}
	signed := s.sign(42, tlog.Hash{1, 2, 3})
	v, err := note.NewVerifier(s.vkey)
	if err != nil {
		t.Fatal(err)
	}
	n, err := note.Open(signed, note.VerifierList(v))
	if err != nil {
		t.Fatalf("not a signed note: %v\n%s", err, signed)
	}
	if want := "example.org/audit/2\n42\nAQIDAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"; n.Text != want {
		t.Errorf("text %q, want %q", n.Text, want)
	}
	other, _ := VerifierKey("example.org/audit", seed, 3)
	if other == s.vkey {
		t.Error("two logs have one key")
	}
	for name, test := range map[string]struct{ signed, key, want string }{
		"good":        {string(signed), s.vkey, ""},
		"other key":   {string(signed), other, "the checkpoint is of example.org/audit/2, and the key is of example.org/audit/3"},
		"changed":     {strings.Replace(string(signed), "\n42\n", "\n43\n", 1), s.vkey, "was changed"},
		"no note":     {"hello", s.vkey, "not a signed checkpoint"},
		"other seed":  {string(must(newSigner("example.org/audit", bytes.Repeat([]byte{2}, 32), 2)).sign(42, tlog.Hash{})), s.vkey, "not signed by the key"},
		"no key":      {string(signed), "key", "NAME+HASH+KEY"},
		"enormous":    {strings.Repeat("x", maxNote+1), s.vkey, "limit"},
		"extra lines": {string(signed) + "— witness.example/w AAAAAAA=\n", s.vkey, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cp, err := OpenCheckpoint([]byte(test.signed), test.key)
			if test.want == "" && (err != nil || cp.Size != 42) {
				t.Errorf("%v, %v", cp, err)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
	for _, origin := range []string{"", "a b", "a+b", "a\nb"} {
		if _, err := VerifierKey(origin, seed, 0); err == nil {
			t.Errorf("origin %q is accepted", origin)
		}
	}
}

func must(s *signer, err error) *signer {
	if err != nil {
		panic(err)
	}
	return s
}

func TestTilePath(t *testing.T) {
	type tilePath struct {
		N     uint64
		Width int
	}
	for path, want := range map[string]tilePath{
		"000": {0, 256}, "042": {42, 256}, "x001/x234/067": {1234067, 256}, "x001/000.p/255": {1000, 255}, "007.p/1": {7, 1},
	} {
		n, w, err := parseTilePath(path)
		if diff := cmp.Diff(want, tilePath{n, w}); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", path, err, diff)
		}
	}
	for _, path := range []string{"", "0", "42", "1234", "x001", "001/234", "x000/001", "000.p/0", "000.p/256", "000.p/01", "000.p/", "+12", "x+12/000", "-01", "000/", "x999/x999/x999/x999/x999/x999/999"} {
		if n, w, err := parseTilePath(path); err == nil {
			t.Errorf("%q is read as tile %d with %d hashes", path, n, w)
		} else if e := (*httpError)(nil); !errors.As(err, &e) || e.code != 400 {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestSplitCheckpoints(t *testing.T) {
	a, b := "log/0\n1\nAA==\n\n— log/0 AA==\n", "log/0\n2\nBB==\n\n— log/0 BB==\n— w CC==\n"
	for _, file := range []string{a + b, a + "\n" + b + "\n", "a note to oneself\n\n" + a + "\n\n" + b} {
		var got []string
		for _, s := range SplitCheckpoints([]byte(file)) {
			got = append(got, string(s))
		}
		if diff := cmp.Diff([]string{a, b}, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", file, diff)
		}
	}
}
