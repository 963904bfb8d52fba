// Package ocsftest has OCSF's own schema, for tests that hold events against it.
package ocsftest

import (
	"bytes"
	_ "embed"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed schema/ocsf.schema.json
var text []byte

// Schema is OCSF's own schema. It was compiled from the published definitions: see the
// folder schema.
func Schema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("ocsf.json", doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("ocsf.json")
}
