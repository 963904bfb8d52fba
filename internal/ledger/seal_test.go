package ledger

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"reeve.example/reeve/act"
)

// TestSealer: a seal is good for what a row says, and for nothing that differs in anything.
func TestSealer(t *testing.T) {
	seed := bytes.Repeat([]byte{1}, 32)
	s, err := NewSealer(seed)
	if err != nil {
		t.Fatal(err)
	}
	sound := Item{Kind: "approval", ID: "a", Owner: "key:a", Version: act.Position{Log: 1, Index: 2}, Open: true, Due: time.Unix(1, 2), Data: []byte("data")}
	sound.Seal = s.Item(&sound)
	if err := s.CheckItem(&sound); err != nil {
		t.Errorf("its own: %v", err)
	}
	for name, change := range map[string]func(i *Item){
		"kind": func(i *Item) { i.Kind = "grant" }, "id": func(i *Item) { i.ID = "b" }, "owner": func(i *Item) { i.Owner = "" },
		"log": func(i *Item) { i.Version.Log = 0 }, "index": func(i *Item) { i.Version.Index++ }, "open": func(i *Item) { i.Open = false },
		"due": func(i *Item) { i.Due = i.Due.Add(1) }, "never due": func(i *Item) { i.Due = time.Time{} }, "data": func(i *Item) { i.Data = nil },
		"fields that run together": func(i *Item) { i.Kind, i.ID = "approva", "la" },
		"half of the seal":         func(i *Item) { i.Seal = i.Seal[:16] },
		"another seal":             func(i *Item) { i.Seal = s.Fields("item", "approval", "a") },
	} {
		forged := sound
		if change(&forged); !errors.Is(s.CheckItem(&forged), ErrForged) {
			t.Errorf("another %s: %v", name, s.CheckItem(&forged))
		}
	}
	bare := sound
	if bare.Seal = nil; !errors.Is(s.CheckItem(&bare), ErrUnsealed) {
		t.Errorf("none: %v", s.CheckItem(&bare))
	}
	other, err := NewSealer(bytes.Repeat([]byte{2}, 32))
	if err != nil {
		t.Fatal(err)
	}
	if err := other.CheckItem(&sound); !errors.Is(err, ErrForged) {
		t.Errorf("under another seed: %v", err)
	}
}

// BenchmarkSeal is what a row of ordinary size costs to be sealed, or checked.
func BenchmarkSeal(b *testing.B) {
	s, err := NewSealer(make([]byte, 32))
	if err != nil {
		b.Fatal(err)
	}
	for name, size := range map[string]int{"300 bytes": 300, "2 KiB": 2 << 10, "50 KiB": 50 << 10} {
		b.Run(name, func(b *testing.B) {
			i := Item{Kind: "approval", ID: "abcdefghijkmnpqr", Owner: "key:agent", Data: make([]byte, size)}
			b.ReportAllocs()
			for b.Loop() {
				i.Seal = s.Item(&i)
			}
		})
	}
}
