package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLinked(t *testing.T) {
	for text, want := range map[string]string{
		"see https://Evil.example/a?b=c.":              "links evil.example|https://Evil.example/a?b=c",
		"go to www.evil.example/x, now":                "links www.evil.example|www.evil.example/x",
		"(WWW.evil.example)":                           "links www.evil.example|WWW.evil.example",
		"![x](https://evil.example/p?d=1)":             "images evil.example|https://evil.example/p?d=1",
		"![x](//evil.example/p)":                       "images evil.example|//evil.example/p",
		`<img src="//evil.example/p">`:                 "images evil.example|//evil.example/p",
		`<a href='//evil.example'>`:                    "links evil.example|//evil.example",
		"// a comment, a//b, http:, ann@www.x.example": "",
		"www. and wwww.x and the end is www.":          "",
	} {
		control, carries := linked(nil, nil, text, reachLinks|reachImages)
		got := ""
		for _, c := range control {
			got += c.argument + " " + c.text
		}
		for _, c := range carries {
			got += "|" + c.text
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
