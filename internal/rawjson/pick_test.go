package rawjson

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPick(t *testing.T) {
	for _, tt := range []struct {
		src   string
		names []string
		want  []string
	}{
		{`{"a":1,"b":2,"c":3}`, []string{"a", "b", "c"}, []string{"1", "2", "3"}},
		{`{"c":3,"x":0,"a":1}`, []string{"a", "b", "c"}, []string{"1", "", "3"}},
		{`{"\u0061":[1,{"b":2}],"b":{"a":5}}`, []string{"a", "b"}, []string{`[1,{"b":2}]`, `{"a":5}`}},
		{`{"A":1,"":2}`, []string{"a", ""}, []string{"", "2"}},
		{`{}`, []string{"a"}, []string{""}},
		{`[1]`, []string{"a"}, []string{""}},
		{`{"a":1}`, nil, nil},
	} {
		d, err := Parse([]byte(tt.src))
		if err != nil {
			t.Fatal(err)
		}
		into := make([]Value, len(tt.names))
		for i := range into {
			into[i] = d.Root() // must be overwritten
		}
		d.Root().Pick(tt.names, into)
		var got []string
		for i, v := range into {
			got = append(got, string(v.Raw()))
			if want := d.Root().Get(tt.names[i]); want != v {
				t.Errorf("%s: Pick and Get differ in %q", tt.src, tt.names[i])
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.src, diff)
		}
	}
	Value{}.Pick([]string{"a"}, make([]Value, 1))
}

func TestOthers(t *testing.T) {
	for _, tt := range []struct {
		src   string
		names []string
		want  []string
	}{
		{`{"a":1,"b":[{"a":2}],"c":3}`, []string{"a", "c"}, []string{`b [{"a":2}]`}},
		{`{"\u0061":1,"A":2,"":3}`, []string{"a"}, []string{"A 2", " 3"}},
		{`{"a":1}`, []string{"a", "b"}, nil},
		{`{"a":1}`, nil, []string{"a 1"}},
		{`{}`, nil, nil},
		{`[1]`, nil, nil},
	} {
		d, err := Parse([]byte(tt.src))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for name, v := range d.Root().Others(tt.names) {
			got = append(got, name+" "+string(v.Raw()))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.src, diff)
		}
		if has := d.Root().HasOthers(tt.names); has != (tt.want != nil) {
			t.Errorf("%s: has others is %t", tt.src, has)
		}
	}
}
