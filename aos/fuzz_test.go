package aos

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
)

func addVectors(f *testing.F) {
	for _, body := range vectorRequests(f, "") {
		f.Add(bytes.TrimSpace(body), uint64(1))
	}
	f.Add(request3KB(), uint64(2))
}

// FuzzDecode: no request makes the decoder panic, and whatever is accepted
// points at what it says.
func FuzzDecode(f *testing.F) {
	addVectors(f)
	f.Fuzz(func(t *testing.T, body []byte, _ uint64) {
		a, err := ActionOf(body)
		if err != nil {
			if a != nil {
				t.Error("an error, and an act")
			}
			return
		}
		checkAct(t, a)
	})
}

func checkAct(t *testing.T, a *act.Action) {
	doc, err := rawjson.Parse(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(act.Kinds, a.Kind) {
		t.Errorf("kind %q", a.Kind)
	}
	if a.Digest == (act.Digest{}) {
		t.Error("no digest")
	}
	seen := map[string]bool{}
	for _, leaf := range a.Content {
		v := doc.At(leaf.Pointer)
		if leaf.Item != "" && (!doc.At(leaf.Item).Exists() || leaf.Pointer != leaf.Item && !strings.HasPrefix(leaf.Pointer, leaf.Item+"/")) {
			t.Errorf("the leaf %s does not belong to %s", leaf.Pointer, leaf.Item)
		}
		if leaf.Fixed {
			if !v.Exists() || leaf.Base64 {
				t.Errorf("the fixed leaf %s is %s", leaf.Pointer, v.Kind())
			}
			continue
		}
		text := v.Text()
		switch v.Kind() {
		case rawjson.String:
		case rawjson.Number:
			text = string(v.Raw())
		default:
			t.Fatalf("the leaf %s is %s", leaf.Pointer, v.Kind())
		}
		if leaf.Base64 {
			file, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				t.Fatalf("the leaf %s is not Base64", leaf.Pointer)
			}
			text = string(file)
		}
		if text != leaf.Text {
			t.Fatalf("the leaf %s is %q, and says %q", leaf.Pointer, text, leaf.Text)
		}
		if seen[leaf.Pointer] {
			t.Errorf("the leaf %s is there twice", leaf.Pointer)
		}
		seen[leaf.Pointer] = true
	}
	for _, x := range a.Arguments {
		if v := doc.At(x.Pointer); !bytes.Equal(v.Raw(), x.Value) {
			t.Errorf("the argument %s is %s, and says %s", x.Pointer, v.Raw(), x.Value)
		}
	}
}

// FuzzRoundTrip: whatever is put into the leaves and arguments of a request
// that is valid, it stays valid and asks for the same, and nothing else in it
// changes.
func FuzzRoundTrip(f *testing.F) {
	addVectors(f)
	f.Fuzz(func(t *testing.T, body []byte, seed uint64) {
		a, err := ActionOf(body)
		if err != nil {
			return
		}
		doc, _ := rawjson.Parse(a.Body)
		random := rand.New(rand.NewPCG(seed, 7))
		texts := []string{"", "****", "\"\\\x00\x1f\u2028", "drop it", "text", "Ω💥", "https://a.example/", strings.Repeat("x", 500)}
		edits := map[string][]byte{}
		var reps []rawjson.Replacement
		edit := func(pointer string, value []byte) {
			edits[pointer] = value
			reps = append(reps, rawjson.Replacement{At: doc.At(pointer), With: value})
		}
		whole := random.IntN(3) == 0 && (a.Kind == act.ToolCall || a.InnerMethod == "tools/call")
		if whole {
			values := []string{`null`, `17.50`, `{"a":[]}`, `"x"`, `[true]`}
			for _, x := range a.Arguments {
				edit(x.Pointer, []byte(values[random.IntN(len(values))]))
			}
		} else {
			for _, leaf := range a.Content {
				if leaf.Fixed {
					continue
				}
				text := texts[random.IntN(len(texts))]
				if leaf.Base64 {
					text = base64.StdEncoding.EncodeToString([]byte(text))
				}
				edit(leaf.Pointer, rawjson.Quote(text))
			}
		}
		modified, err := doc.Splice(reps)
		if err != nil {
			t.Fatal(err)
		}
		b, err := ActionOf(modified)
		if err != nil {
			t.Fatalf("the edited request is not valid: %v\n%s", err, modified)
		}
		if b.Method != a.Method || b.Kind != a.Kind || b.ID != a.ID || b.Answers != a.Answers || b.InnerMethod != a.InnerMethod {
			t.Errorf("the edited request asks for something else: %s %s %s %s", b.Method, b.Kind, b.ID, b.Answers)
		}
		after, _ := rawjson.Parse(modified)
		same(t, doc.Root(), after.Root(), "", edits)
	})
}

// same compares two values but for what was edited.
func same(t *testing.T, a, b rawjson.Value, pointer string, edits map[string][]byte) {
	if value, ok := edits[pointer]; ok {
		if !bytes.Equal(b.Raw(), value) {
			t.Errorf("%s is %s, want %s", pointer, b.Raw(), value)
		}
		return
	}
	if a.Kind() != b.Kind() || a.Len() != b.Len() {
		t.Fatalf("%s changed from %s to %s", pointer, a.Raw(), b.Raw())
	}
	switch a.Kind() {
	case rawjson.Object:
		for name, m := range a.Members() {
			same(t, m, b.Get(name), pointer+"/"+rawjson.EscapePointer(name), edits)
		}
	case rawjson.Array:
		others := make([]rawjson.Value, 0, b.Len())
		for _, e := range b.Elems() {
			others = append(others, e)
		}
		for i, e := range a.Elems() {
			same(t, e, others[i], fmt.Sprintf("%s/%d", pointer, i), edits)
		}
	default:
		if !bytes.Equal(a.Raw(), b.Raw()) {
			t.Errorf("%s changed from %s to %s", pointer, a.Raw(), b.Raw())
		}
	}
}

// FuzzDigest: the digest does not see how a request is written down, and sees
// every change of a text or a number in what is really done.
func FuzzDigest(f *testing.F) {
	addVectors(f)
	f.Fuzz(func(t *testing.T, body []byte, seed uint64) {
		a, err := ActionOf(body)
		if err != nil {
			return
		}
		doc, _ := rawjson.Parse(a.Body)
		random := rand.New(rand.NewPCG(seed, 11))
		other := rewrite(nil, doc.Root(), random)
		b, err := ActionOf(other)
		if err != nil {
			t.Fatalf("written another way, the request is not valid: %v\n%s", err, other)
		}
		if a.Digest != b.Digest || a.Kind != b.Kind || a.Resource != b.Resource || a.Canonical != b.Canonical || len(a.Content) != len(b.Content) {
			t.Errorf("the same request written another way is another act:\n%s\n%s", a.Body, other)
		}

		change := func(v rawjson.Value, with []byte) {
			changed, err := doc.Splice([]rawjson.Replacement{{At: v, With: with}})
			if err != nil {
				t.Fatal(err)
			}
			c, err := ActionOf(changed)
			if err != nil {
				t.Fatalf("%v\n%s", err, changed)
			}
			if c.Digest == a.Digest {
				t.Errorf("a change at %s from %s to %s does not change the digest", v.Pointer(), v.Raw(), with)
			}
		}
		if len(a.Content) > 0 {
			leaf := a.Content[random.IntN(len(a.Content))]
			text := leaf.Text + "."
			if leaf.Base64 {
				text = base64.StdEncoding.EncodeToString([]byte(text))
			}
			if !leaf.Fixed {
				change(doc.At(leaf.Pointer), rawjson.Quote(text))
			}
		}
		if len(a.Arguments) > 0 && (a.Kind == act.ToolCall || a.Kind == act.MCPRequest) {
			x := a.Arguments[random.IntN(len(a.Arguments))]
			v := doc.At(x.Pointer)
			if v.Kind() == rawjson.Number {
				longer := "0"
				if !bytes.ContainsAny(v.Raw(), ".eE") {
					longer = ".0"
				}
				change(v, append(slices.Clone(v.Raw()), longer...))
				change(v, rawjson.Quote(string(v.Raw())))
			}
		}
	})
}

// rewrite writes a value another way: names in another order, spaces, other
// spellings of the same string.
func rewrite(dst []byte, v rawjson.Value, random *rand.Rand) []byte {
	space := func() { dst = append(dst, "   \t\n\r"[:random.IntN(6)]...) }
	space()
	switch v.Kind() {
	case rawjson.Object:
		type member struct {
			name string
			v    rawjson.Value
		}
		var members []member
		for name, m := range v.Members() {
			members = append(members, member{name, m})
		}
		random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		dst = append(dst, '{')
		for i, m := range members {
			if i > 0 {
				dst = append(dst, ',')
			}
			space()
			dst = respell(dst, m.name, random)
			space()
			dst = append(dst, ':')
			dst = rewrite(dst, m.v, random)
		}
		dst = append(dst, '}')
	case rawjson.Array:
		dst = append(dst, '[')
		for i, e := range v.Elems() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = rewrite(dst, e, random)
		}
		dst = append(dst, ']')
	case rawjson.String:
		dst = respell(dst, v.Text(), random)
	default:
		dst = append(dst, v.Raw()...)
	}
	space()
	return dst
}

func respell(dst []byte, s string, random *rand.Rand) []byte {
	dst = append(dst, '"')
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r < 0x10000 && random.IntN(4) == 0:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		case r == '/' && random.IntN(2) == 0:
			dst = append(dst, `\/`...)
		default:
			quoted := rawjson.Quote(s[:size])
			dst = append(dst, quoted[1:len(quoted)-1]...)
		}
		s = s[size:]
	}
	return append(dst, '"')
}
