package mcpguard

import (
	"runtime"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestConnections: a connection keeps its session, and one that is gone is forgotten.
func TestConnections(t *testing.T) {
	c := new(connections)
	held := new(mcp.ServerSession)
	id := c.id(held)
	if id == "" || c.id(held) != id || c.id(new(mcp.ServerSession)) == id || c.id(new(mcp.ClientSession)) == id {
		t.Error("the session is not the connection's own")
	}
	for known := -1; known != 1; { // until the collector has found those that are gone
		runtime.GC()
		known = 0
		c.ids.Range(func(any, any) bool { known++; return true })
	}
	if c.id(held) != id {
		t.Error("a connection that is there was forgotten")
	}
}
