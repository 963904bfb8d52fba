package a2a_test

import (
	"strings"
	"testing"

	"reeve.example/reeve/internal/store/storetest"
)

// Two nodes on one PostgreSQL are one agent: what is said to one is known to the
// other, whose streams tell of what the first executes, and goes on when one stops.
func TestSharedStore(t *testing.T) {
	url := storetest.Postgres(t)
	first, second := beginIn(t, url, "", nil), beginIn(t, url, "", nil)
	done := first.do("ann", "SendMessage", sent(tasks(one("echo")), ""))
	if got := second.do("ann", "GetTask", `{"id":"`+done.result("task", "id")+`"}`); got.result() != done.result("task") {
		t.Errorf("one node says %s\nand the other %s", done.result("task"), got.result())
	}
	if got := second.call("bob", "GetTask", `{"id":"`+done.result("task", "id")+`"}`); got.code() != "-32001" {
		t.Error(got.text)
	}
	running := first.do("ann", "SendMessage", sent(tasks(one("wait")), `{"returnImmediately":true}`)).result("task", "id")
	second.wait("ann", running, "TASK_STATE_WORKING")
	stream := second.events(second.ask("ann", "POST", "/a2a", `{"jsonrpc":"2.0","id":7,"method":"SubscribeToTask","params":{"id":"`+running+`"}}`))
	close(first.gate)
	close(second.gate) // whichever executes it
	last := ""
	for a := range stream {
		last = a.text
	}
	if !strings.Contains(last, "TASK_STATE_COMPLETED") {
		t.Error(last)
	}
	first.stop()
	if got := second.do("ann", "ListTasks", `{}`); !strings.Contains(got.text, running) {
		t.Error(got.text)
	}
}
