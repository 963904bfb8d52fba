package ledger_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/tlog"
)

func TestReceipt(t *testing.T) {
	s := openStore(t, t.TempDir())
	l := openLog(t, s)
	fill(t, s, l, 601)
	tree := ledger.NewTree(s, 0)
	for index := uint64(0); index < 601; index += 25 {
		receipt, err := tree.MakeReceipt(t.Context(), index)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ledger.VerifyReceipt(receipt, key)
		if err != nil {
			t.Fatalf("receipt of record %d: %v", index, err)
		}
		if got.Record.Index != index || got.Checkpoint.Size != 601 {
			t.Errorf("receipt of record %d in %d", got.Record.Index, got.Checkpoint.Size)
		}
		if diff := cmp.Diff(ledger.Opening{}, got.Opening); diff != "" {
			t.Errorf("a receipt discloses (-want +got):\n%s", diff)
		}
	}

	receipt, err := tree.MakeReceipt(t.Context(), 42, ledger.Request, ledger.Reasons)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ledger.VerifyReceipt(receipt, key)
	if err != nil {
		t.Fatal(err)
	}
	want := ledger.Opening{Request: entry(42).Request, Reasons: entry(42).Reasons}
	if diff := cmp.Diff(want, got.Opening); diff != "" {
		t.Errorf("disclosed (-want +got):\n%s", diff)
	}
	file := filepath.Join(t.TempDir(), "0-42.tlog-proof")
	if err := os.WriteFile(file, receipt, 0o600); err != nil {
		t.Fatal(err)
	}
	python(t, true, "--key", key, file)

	// No part of a receipt can be changed, neither a bit of it nor its sense.
	lines := bytes.Split(receipt, []byte("\n"))
	extra, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(string(lines[1]), "extra "))
	if err != nil {
		t.Fatal(err)
	}
	with := func(from, to string) []byte {
		changed := bytes.Replace(extra, []byte(from), []byte(to), 1)
		if bytes.Equal(changed, extra) {
			t.Fatalf("no %s in %s", from, extra)
		}
		return bytes.Replace(receipt, lines[1], []byte("extra "+base64.StdEncoding.EncodeToString(changed)), 1)
	}
	reason := func(i int) string { return base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("reason %d", i))) }
	for name, test := range map[string]struct {
		receipt []byte
		want    string
	}{
		"effect":             {with(`"effect":"allow"`, `"effect":"deny"`), "proof does not hold"},
		"index in record":    {with(`"index":42`, `"index":43`), "proof does not hold"},
		"index line":         {bytes.Replace(receipt, []byte("\nindex 42\n"), []byte("\nindex 43\n"), 1), "proof does not hold"},
		"index beyond":       {bytes.Replace(receipt, []byte("\nindex 42\n"), []byte("\nindex 601\n"), 1), "proof does not hold"},
		"odd index":          {bytes.Replace(receipt, []byte("\nindex 42\n"), []byte("\nindex 042\n"), 1), "index"},
		"size":               {bytes.Replace(receipt, []byte("\n601\n"), []byte("\n602\n"), 1), "was changed"},
		"a hash less":        {bytes.Replace(receipt, append(lines[3], '\n'), nil, 1), "proof does not hold"},
		"a hash changed":     {bytes.Replace(receipt, lines[4], lines[3], 1), "proof does not hold"},
		"disclosed reason":   {with(reason(42), reason(43)), "its field reasons is not what the record commits to"},
		"disclosed as other": {with(`"field":"reasons"`, `"field":"links"`), "its field links is not what the record commits to"},
		"disclosed twice":    {with(`"field":"reasons"`, `"field":"request"`), "twice"},
		"unknown field":      {with(`"field":"reasons"`, `"field":"mood"`), "mood"},
		"no extra":           {bytes.Replace(receipt, append(lines[1], '\n'), nil, 1), "no record"},
		"not a receipt":      {[]byte("hello"), "first line"},
		"empty":              {nil, "first line"},
		"cut short":          {receipt[:len(receipt)-20], ""},
	} {
		t.Run(name, func(t *testing.T) {
			if r, err := ledger.VerifyReceipt(test.receipt, key); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, %v: want an error with %q", r.Record.Index, err, test.want)
			}
			switch name {
			case "effect", "index line", "size", "a hash less", "disclosed reason":
				if err := os.WriteFile(file, test.receipt, 0o600); err != nil {
					t.Fatal(err)
				}
				python(t, false, "--key", key, file)
			}
		})
	}
	if _, err := ledger.VerifyReceipt(receipt, mustKey(make([]byte, 32))); err == nil {
		t.Error("the receipt holds with another key")
	}
	if _, err := tree.MakeReceipt(t.Context(), 601); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("a receipt of no record: %v", err)
	}
	if _, err := tree.MakeReceipt(t.Context(), 42, ledger.Links); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("a field that is not there is disclosed: %v", err)
	}
}

// vectorKey is the key of log 0 of the seed and origin of these tests, and
// testdata/0-2.tlog-proof a receipt made with it. Both stand still: who has kept
// a receipt must be able to check it for ever.
const vectorKey = "test.local/0+1231520f+AfmdOS+f+jB5QvOZOqIseIMp3relNjQ6If7SIIzwBCAU"

func vectorReceipt(t testing.TB) ([]byte, ledger.Receipt) {
	t.Helper()
	b, err := os.ReadFile("testdata/0-2.tlog-proof")
	if err != nil {
		t.Fatal(err)
	}
	r, err := ledger.VerifyReceipt(b, vectorKey)
	if err != nil {
		t.Fatal(err)
	}
	return b, r
}

func TestReceiptVector(t *testing.T) {
	if key != vectorKey {
		t.Errorf("the key is derived otherwise than before: %s, want %s", key, vectorKey)
	}
	_, r := vectorReceipt(t)
	want := ledger.Opening{Reasons: []byte("reason 2")}
	if diff := cmp.Diff(want, r.Opening); diff != "" || r.Record.ID() != "0-2" || r.Checkpoint.Size != 5 {
		t.Errorf("record %s of %d (-want +got):\n%s", r.Record.ID(), r.Checkpoint.Size, diff)
	}
	python(t, true, "--key", vectorKey, "testdata/0-2.tlog-proof")
}

func FuzzVerifyReceipt(f *testing.F) {
	receipt, valid := vectorReceipt(f)
	f.Add(receipt)
	f.Add([]byte("c2sp.org/tlog-proof@v1\nextra e30=\nindex 0\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ledger.VerifyReceipt(b, vectorKey)
		if err != nil {
			return
		}
		// There is one signature by this key, and one record in the receipt.
		if diff := cmp.Diff(valid.Record, r.Record); diff != "" {
			t.Errorf("a forged record holds (-want +got):\n%s", diff)
		}
		if o := r.Opening; o.Request != nil || o.Modified != nil || o.Principal != nil || o.Links != nil ||
			o.Reasons != nil && !bytes.Equal(o.Reasons, valid.Opening.Reasons) {
			t.Errorf("a forged opening holds: %+v", o)
		}
	})
}

func TestHandler(t *testing.T) {
	s := openStore(t, t.TempDir())
	l := openLog(t, s)
	server := httptest.NewServer(ledger.NewHandler(s, origin, seed))
	defer server.Close()
	get := func(path string, want int) []byte {
		t.Helper()
		resp, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != want {
			t.Errorf("GET %s: %d %s, want %d", path, resp.StatusCode, b, want)
		}
		immutable := strings.Contains(resp.Header.Get("Cache-Control"), "immutable")
		if tile := want == 200 && strings.Contains(path, "/tile/"); tile != immutable {
			t.Errorf("GET %s: Cache-Control %q", path, resp.Header.Get("Cache-Control"))
		}
		return b
	}
	get("/ledger/0/checkpoint", 404)
	checkpoints := fill(t, s, l, 600)
	if got := string(get("/ledger/key", 200)); got != key+"\n" {
		t.Errorf("keys %q", got)
	}
	if got := string(get("/ledger/0/key", 200)); got != key+"\n" {
		t.Errorf("key %q", got)
	}
	signed := get("/ledger/0/checkpoint", 200)
	cp, err := ledger.OpenCheckpoint(signed, key)
	if err != nil || cp.Size != 600 {
		t.Fatalf("checkpoint of %d records: %v", cp.Size, err)
	}

	// A reader who has nothing but these answers arrives at the signed root.
	var leaves, roots []tlog.Hash
	for n, width := range []int{256, 256, 88} {
		suffix := ""
		if width < 256 {
			suffix = fmt.Sprintf(".p/%d", width)
		}
		tile := get(fmt.Sprintf("/ledger/0/tile/0/%03d%s", n, suffix), 200)
		bundle := get(fmt.Sprintf("/ledger/0/tile/entries/%03d%s", n, suffix), 200)
		if len(tile) != 32*width {
			t.Fatalf("tile %d has %d bytes", n, len(tile))
		}
		for i := 0; len(bundle) > 0; i++ {
			size := binary.BigEndian.Uint16(bundle)
			record := bundle[2 : 2+size]
			bundle = bundle[2+size:]
			r, err := ledger.ParseRecord(record)
			if err != nil || r.Index != uint64(len(leaves)) {
				t.Fatalf("record %d in its bundle: %v", len(leaves), err)
			}
			h := tlog.RecordHash(record)
			if h != tlog.Hash(tile[32*i:]) {
				t.Fatalf("record %d does not fit its tile", r.Index)
			}
			leaves = append(leaves, h)
		}
	}
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		var out []tlog.Hash
		for _, i := range indexes {
			out = append(out, stored[i])
		}
		return out, nil
	})
	for i, leaf := range leaves {
		h, err := tlog.StoredHashesForRecordHash(int64(i), leaf, read)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, h...)
	}
	root, err := tlog.TreeHash(600, read)
	if err != nil || root != cp.Root {
		t.Errorf("the tiles give the root %s, %v; signed is %s", root, err, cp.Root)
	}
	level1 := get("/ledger/0/tile/1/000.p/2", 200)
	for i := range 2 {
		roots = append(roots, tlog.Hash(level1[32*i:]))
		if want := stored[tlog.StoredHashIndex(8, int64(i))]; roots[i] != want {
			t.Errorf("hash %d of level 1 is %s, want %s", i, roots[i], want)
		}
	}
	if _, err := ledger.VerifyReceipt(get("/ledger/0/receipt/599", 200), key); err != nil {
		t.Error(err)
	}
	req, _ := http.NewRequest("GET", server.URL+"/ledger/0/tile/entries/000", nil)
	req.Header.Set("Accept-Encoding", "gzip")
	if resp, err := http.DefaultClient.Do(req); err != nil {
		t.Error(err)
	} else {
		z, err := gzip.NewReader(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(z); err != nil || !bytes.Equal(b, get("/ledger/0/tile/entries/000", 200)) {
			t.Errorf("compressed, the bundle is another: %v", err)
		}
		resp.Body.Close()
	}

	for path, want := range map[string]int{
		"/ledger/": 400, "/ledger/x/checkpoint": 400, "/ledger/00/checkpoint": 400, "/ledger/-1/checkpoint": 400, "/ledger/99999999999/key": 400,
		"/ledger/7/checkpoint": 404, "/ledger/0": 404, "/ledger/0/": 404, "/ledger/0/checkpoint/x": 404, "/ledger/0/opening/1": 404,
		"/ledger/0/receipt/600": 404, "/ledger/0/receipt/": 400, "/ledger/0/receipt/x": 400, "/ledger/0/receipt/18446744073709551615": 400,
		"/ledger/0/receipt/9223372036854775807": 404,
		"/ledger/0/tile/0/002":                  404, "/ledger/0/tile/0/002.p/89": 404, "/ledger/0/tile/0/3": 400, "/ledger/0/tile/64/000": 400,
		"/ledger/0/tile/63/000": 404, "/ledger/0/tile/2/000.p/1": 404, "/ledger/0/tile/entries/x999/x999/x999/x999/x999/999": 404,
	} {
		get(path, want)
	}
	resp, err := http.Post(server.URL+"/ledger/0/checkpoint", "text/plain", strings.NewReader("x"))
	if err != nil || resp.StatusCode != 405 {
		t.Errorf("POST: %v, %v", resp.StatusCode, err)
	}
	resp.Body.Close()

	if _, err := ledger.Prune(t.Context(), s, 0, checkpoints[5], key); err != nil {
		t.Fatal(err)
	}
	get("/ledger/0/tile/entries/001", 410)
	get("/ledger/0/receipt/511", 410)
	get("/ledger/0/receipt/512", 200)
}

func TestExport(t *testing.T) {
	s := openStore(t, t.TempDir())
	l := openLog(t, s)
	fill(t, s, l, 300)
	binaryEntry := entry(300)
	binaryEntry.Links = []byte{0xff, 0, 1}
	wait(t, enqueue(t, l, binaryEntry))
	if err := s.Erase(t.Context(), []act.Position{{Index: 299}}); err != nil {
		t.Fatal(err)
	}
	type content struct {
		Salt  []byte  `json:"salt"`
		Text  *string `json:"text"`
		Bytes []byte  `json:"bytes"`
	}
	type line struct {
		ID       string             `json:"decision_id"`
		Record   json.RawMessage    `json:"record"`
		Openings map[string]content `json:"openings"`
	}
	export := func(what ledger.Range, openings bool) (lines []line) {
		t.Helper()
		var out bytes.Buffer
		if err := ledger.Export(t.Context(), s, what, openings, &out); err != nil {
			t.Fatal(err)
		}
		for _, b := range bytes.SplitAfter(out.Bytes(), []byte("\n")) {
			if len(b) == 0 {
				continue
			}
			var x line
			if err := json.Unmarshal(b, &x); err != nil {
				t.Fatalf("%s: %v", b, err)
			}
			lines = append(lines, x)
		}
		return lines
	}
	lines := export(ledger.Range{To: 1 << 62}, true)
	if len(lines) != 301 {
		t.Fatalf("%d lines, want 301", len(lines))
	}
	for i, x := range lines {
		_, want, err := ledger.ReadRecord(t.Context(), s, act.Position{Index: uint64(i)})
		if err != nil {
			t.Fatal(err)
		}
		if x.ID != fmt.Sprintf("0-%d", i) || !bytes.Equal(x.Record, want) {
			t.Fatalf("line %d is %s: %s, want %s", i, x.ID, x.Record, want)
		}
		switch o := x.Openings; {
		case i == 299 && o != nil:
			t.Error("what was erased is exported")
		case i != 299 && *o["request"].Text != string(entry(i).Request):
			t.Errorf("line %d has the request %s", i, *o["request"].Text)
		case i == 300 && !bytes.Equal(o["links"].Bytes, binaryEntry.Links):
			t.Errorf("line %d has the links %v", i, o["links"])
		}
	}
	if lines := export(ledger.Range{From: 10, To: 20}, false); len(lines) != 10 || lines[0].ID != "0-10" || lines[0].Openings != nil {
		t.Errorf("%d lines from %s", len(lines), lines[0].ID)
	}
}
