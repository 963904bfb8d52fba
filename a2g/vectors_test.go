package a2g

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/rawjson"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

const vectors = "../vectors/a2g"

// readVectors returns the vectors whose name begins so.
func readVectors(t testing.TB, prefix string) map[string]*txtar.Archive {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(vectors, prefix+"*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors %s*: %v", prefix, err)
	}
	archives := map[string]*txtar.Archive{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if kind, _, _ := strings.Cut(name, "-"); !slices.Contains([]string{"valid", "invalid", "signature", "handshake"}, kind) {
			t.Errorf("%s: a vector's name begins with valid-, invalid-, signature- or handshake-", name)
		}
		if len(bytes.TrimSpace(archive.Comment)) == 0 {
			t.Errorf("%s: the vector has no prose head that says which fact it pins", name)
		}
		archives[name] = archive
	}
	return archives
}

func section(archive *txtar.Archive, name string) []byte {
	for _, f := range archive.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// decoding answers each request with null, or why it is invalid, and keeps the acts.
func decoding(acts *[]*act.Action) jsonrpc.Namespace {
	return jsonrpc.Namespace{
		Match: func(method string) bool { return strings.HasPrefix(method, "a2g/") },
		Words: words,
		Handle: func(_ context.Context, r *jsonrpc.Request) ([]byte, *jsonrpc.Error) {
			var a *act.Action
			var err *jsonrpc.Error
			switch r.Method {
			case MethodIntent:
				a, _, err = decodeIntent(r)
			case MethodReport:
				a, _, err = decodeReport(r)
			case MethodRegister:
				a, _, err = decodeRegister(r)
			case MethodHeartbeat:
				_, err = decodeHeartbeat(r)
			default:
				err = unknownMethod()
			}
			if err == nil {
				*acts = append(*acts, a)
			}
			return nil, err
		},
	}
}

// TestVectors compares what was read from each request, and the answers to those
// that are invalid. See vectors/a2g/README.md.
func TestVectors(t *testing.T) {
	for name, archive := range readVectors(t, "") {
		request := section(archive, "request.json")
		if section(archive, "keys.json") != nil {
			continue // see TestSignatureVectors
		}
		t.Run(name, func(t *testing.T) {
			var acts []*act.Action
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(request))
			r.Header.Set("Content-Type", "application/json")
			(&jsonrpc.Handler{Namespaces: []jsonrpc.Namespace{decoding(&acts)}}).ServeHTTP(w, r)
			got, err := generic(w.Body.Bytes())
			if err != nil {
				t.Fatalf("%v: %s", err, w.Body)
			}
			if data := section(archive, "answer.json"); data != nil {
				want, err := generic(data)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%sanswer (-want +got):\n%s", archive.Comment, diff)
				}
			}
			if data := section(archive, "act.json"); data != nil {
				if len(acts) != 1 {
					t.Fatalf("no act: %s", w.Body)
				}
				want, err := generic(data)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, matched(want, describe(acts[0]))); diff != "" {
					t.Errorf("%sact (-want +got):\n%s", archive.Comment, diff)
				}
				checkAct(t, acts[0])
			}
		})
	}
}

// TestSignatureVectors checks what the SDKs signed, and that a change of any
// letter of it is noticed.
func TestSignatureVectors(t *testing.T) {
	for name, archive := range readVectors(t, "") {
		if section(archive, "keys.json") == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var keys struct {
				Secret string    `json:"secret"`
				Now    time.Time `json:"now"`
			}
			var want struct {
				Nonce  string    `json:"nonce"`
				At     time.Time `json:"at"`
				Signed string    `json:"signed"`
			}
			for file, into := range map[string]any{"keys.json": &keys, "signature.json": &want} {
				if err := json.Unmarshal(section(archive, file), into); err != nil {
					t.Fatal(err)
				}
			}
			secret := Keys{Secret: keys.Secret}
			verify := func(nonce string, at time.Time, err error) {
				t.Helper()
				if err != nil || nonce != want.Nonce || !at.Equal(want.At) {
					t.Errorf("%q %v %v, want %q %v", nonce, at, err, want.Nonce, want.At)
				}
			}
			if headers := section(archive, "headers.txt"); headers != nil {
				h, err := ReadHandshake(readHeader(t, headers))
				if err != nil {
					t.Fatal(err)
				}
				verify(h.Verify(secret, keys.Now))
				if got := string(h.signed([]byte(h.AgentDID))); got != want.Signed {
					t.Errorf("signed is %s, want %s", got, want.Signed)
				}
				h.AgentDID += "x"
				if _, _, err := h.Verify(secret, keys.Now); !errors.Is(err, ErrSignature) {
					t.Errorf("another agent: %v", err)
				}
				return
			}
			request := bytes.TrimSpace(section(archive, "request.json"))
			doc, err := rawjson.Parse(request)
			if err != nil {
				t.Fatal(err)
			}
			params := doc.Root().Get("params")
			verify(Verify(params, secret, keys.Now))
			compare := byCodePoint
			if strings.HasPrefix(name, "signature-typescript") {
				compare = asInJavaScript
			}
			sig := Signature{Timestamp: params.Get("context").Get("signature").Get("timestamp").Text(), Nonce: want.Nonce}
			if got := string(sig.signed(appendSigned(nil, params, compare))); got != want.Signed {
				t.Errorf("signed is %s\nwant      %s", got, want.Signed)
			}
			start, end := params.Span()
			for i := start; i < end; i++ {
				changed := bytes.Clone(request)
				changed[i] ^= 1
				doc, err := rawjson.Parse(changed)
				if err != nil {
					continue
				}
				hash := doc.Root().Get("params").Get("context").Get("signature").Get("hash")
				if from, to := hash.Span(); from <= i && i < to && strings.EqualFold(hash.Text(), params.Get("context").Get("signature").Get("hash").Text()) {
					continue
				}
				if _, _, err := Verify(doc.Root().Get("params"), secret, keys.Now); err == nil {
					t.Fatalf("a change at byte %d passes: %s", i, changed)
				}
			}
		})
	}
}

func readHeader(t *testing.T, text []byte) http.Header {
	header := http.Header{}
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			t.Fatalf("no header: %q", line)
		}
		header.Add(textproto.CanonicalMIMEHeaderKey(name), value)
	}
	return header
}

// generic reads JSON with every number as it is written.
func generic(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more than one value")
	}
	return v, nil
}

// matched is got without the members of the outermost object that want does not name.
func matched(want, got any) any {
	w, ok := want.(map[string]any)
	g, gotOK := got.(map[string]any)
	if !ok || !gotOK {
		return got
	}
	m := map[string]any{}
	for name := range w {
		if y, ok := g[name]; ok {
			m[name] = y
		}
	}
	return m
}

// describe is an act in the terms of act.json.
func describe(a *act.Action) any {
	m := map[string]any{
		"kind": string(a.Kind), "resource": a.Resource, "id": a.ID, "answers": a.Answers, "failed": a.Failed,
		"agent": a.Agent.ID, "session": a.Session, "step": a.Step, "reasoning": a.Reasoning,
	}
	leaves := []any{}
	for _, l := range a.Content {
		leaf := map[string]any{"at": l.Pointer, "text": l.Text}
		if l.Arg != "" {
			leaf["argument"] = l.Arg
		}
		if l.Fixed {
			leaf["fixed"] = true
		}
		leaves = append(leaves, leaf)
	}
	m["content"] = leaves
	arguments := map[string]any{}
	for _, x := range a.Arguments {
		v, err := generic(x.Value)
		if err != nil {
			v = "not JSON: " + err.Error()
		}
		arguments[x.Name] = map[string]any{"at": x.Pointer, "value": v}
	}
	m["arguments"] = arguments
	return m
}

// checkAct holds an act to its body: whatever it says stands where it says.
func checkAct(t *testing.T, a *act.Action) {
	t.Helper()
	doc, err := rawjson.Parse(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(act.Kinds, a.Kind) || a.Door != "a2g" || a.Digest == (act.Digest{}) {
		t.Errorf("kind %q, door %q, digest %s", a.Kind, a.Door, a.Digest)
	}
	for _, leaf := range a.Content {
		v := doc.At(leaf.Pointer)
		if leaf.Fixed {
			if !v.Exists() {
				t.Errorf("the fixed leaf %s is not there", leaf.Pointer)
			}
			continue
		}
		text := v.Text()
		if v.Kind() == rawjson.Number {
			text = string(v.Raw())
		}
		if text != leaf.Text {
			t.Fatalf("the leaf %s is %q, and says %q", leaf.Pointer, text, leaf.Text)
		}
	}
	for _, x := range a.Arguments {
		if v := doc.At(x.Pointer); !bytes.Equal(v.Raw(), x.Value) {
			t.Errorf("the argument %s is %s, and says %s", x.Pointer, v.Raw(), x.Value)
		}
	}
}
