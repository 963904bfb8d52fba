package task

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDefinitionOfBefore: what an older version wrote of a task is read, without what it did
// not know, and is written by this one so that an older one reads its own.
func TestDefinitionOfBefore(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Leave
	}{
		{`{"origin":"create"}`, Leave{}},
		{`{"origin":"create","person":"ada","for":"bob"}`, Leave{Person: "ada", For: "bob"}},
		{`{"origin":"create","person":"ada","for":"bob","organization":"birch","client":"portal","actors":["a"],"scopes":["s"]}`,
			Leave{Person: "ada", For: "bob", Organization: "birch", Client: "portal", Actors: []string{"a"}, Scopes: []string{"s"}}},
	} {
		var one, again Task
		if err := one.SetDefinition([]byte(tt.text)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, one.Leave); diff != "" || one.Origin != OriginCreate {
			t.Errorf("%s is read as: %s", tt.text, diff)
		}
		text, err := one.Definition()
		if err != nil || again.SetDefinition(text) != nil || !cmp.Equal(one, again) {
			t.Errorf("%s is written as %s, %v", tt.text, text, err)
		}
	}
}
