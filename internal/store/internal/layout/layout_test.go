package layout

import (
	"bytes"
	"errors"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"

	"github.com/google/go-cmp/cmp"
)

func TestRecords(t *testing.T) {
	want := [][]byte{[]byte("one"), {}, bytes.Repeat([]byte("x"), 300)}
	data := AppendRecords(nil, want)
	var got [][]byte
	read := func(data []byte, count int) error {
		got = nil
		return Records(data, count, func(i int, r []byte) error {
			got = append(got, r)
			return nil
		})
	}
	if err := read(data, 3); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("records differ (-want +got):\n%s", d)
	}
	for name, bad := range map[string][]byte{
		"cut short": data[:len(data)-1], "longer": append(bytes.Clone(data), 0), "empty": nil,
		"huge length": {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
	} {
		if err := read(bad, 3); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: error %v, want ErrDamaged", name, err)
		}
	}
	stop := errors.New("stop")
	if err := Records(data, 3, func(int, []byte) error { return stop }); err != stop {
		t.Errorf("the callback's error became %v", err)
	}
}

func claims() []ledger.BatchClaim {
	return []ledger.BatchClaim{
		{Entry: 0, Claim: ledger.Claim{Key: ledger.Key{1}, First: true, Data: []byte("first")}},
		{Entry: 2, Claim: ledger.Claim{Key: ledger.Key{2}, Prev: act.Position{Log: 3, Index: 1 << 40}, Data: []byte("second")}},
		{Entry: 2, Claim: ledger.Claim{Key: ledger.Key{1}, Prev: act.Position{Index: 7}, Data: []byte{}}},
	}
}

func TestClaims(t *testing.T) {
	want := claims()
	data := AppendClaims(nil, want)
	var got []ledger.BatchClaim
	collect := func(c *ledger.BatchClaim) error {
		got = append(got, *c)
		return nil
	}
	if err := Claims(data, 3, collect); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("claims differ (-want +got):\n%s", d)
	}
	if err := Claims(data, 2, collect); !errors.Is(err, ErrDamaged) {
		t.Errorf("a claim beyond the batch: error %v, want ErrDamaged", err)
	}
	for i := 1; i < len(data); i++ {
		err := Claims(data[:i], 3, func(*ledger.BatchClaim) error { return nil })
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}

	c, err := FindClaim(data, 3, 2, ledger.Key{1})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want[2].Claim, c); d != "" {
		t.Errorf("found claim differs (-want +got):\n%s", d)
	}
	if _, err := FindClaim(data, 3, 1, ledger.Key{1}); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("error %v, want ErrNotFound", err)
	}
}

func TestOpenings(t *testing.T) {
	half := bytes.Repeat([]byte("h"), groupBytes/2+1)
	openings := [][]byte{nil, []byte("a"), nil, half, half, nil, nil, []byte("z"), nil}
	type group struct{ From, To int }
	var got []group
	for from, to := range Groups(openings) {
		got = append(got, group{from, to})
		data, err := AppendOpenings(nil, openings[from:to])
		if err != nil {
			t.Fatal(err)
		}
		for i := range to - from {
			start, end, err := OpeningSpan(data, to-from, i)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(data[start:end], openings[from+i]) {
				t.Errorf("opening %d reads back differently", from+i)
			}
		}
	}
	if d := cmp.Diff([]group{{1, 5}, {7, 8}}, got); d != "" {
		t.Errorf("groups differ (-want +got):\n%s", d)
	}
	if _, _, err := OpeningSpan([]byte{8, 0, 0, 0, 5, 0, 0, 0, 1, 2, 3, 4}, 1, 0); !errors.Is(err, ErrDamaged) {
		t.Errorf("an opening beyond its group: error %v, want ErrDamaged", err)
	}
	if _, _, err := OpeningSpan([]byte{7, 0, 0, 0, 1, 0, 0, 0, 1, 2, 3, 4}, 1, 0); !errors.Is(err, ErrDamaged) {
		t.Errorf("an opening within the table: error %v, want ErrDamaged", err)
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(AppendRecords(nil, [][]byte{[]byte("a"), []byte("bc")}), 2)
	f.Fuzz(func(t *testing.T, data []byte, count int) {
		var all [][]byte
		err := Records(data, count, func(i int, r []byte) error {
			all = append(all, r)
			return nil
		})
		if err != nil || count < 0 {
			return
		}
		// A uvarint can be written in more bytes than needed: what is read may
		// be longer than what we would write, never different.
		again := AppendRecords(nil, all)
		if len(again) > len(data) {
			t.Errorf("%x reads as records that take more bytes: %x", data, again)
		}
	})
}

func FuzzClaims(f *testing.F) {
	f.Add(AppendClaims(nil, claims()), 3)
	f.Fuzz(func(t *testing.T, data []byte, count int) {
		var all []ledger.BatchClaim
		if Claims(data, count, func(c *ledger.BatchClaim) error {
			all = append(all, *c)
			return nil
		}) != nil {
			return
		}
		var again []ledger.BatchClaim
		if err := Claims(AppendClaims(nil, all), count, func(c *ledger.BatchClaim) error {
			again = append(again, *c)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(all, again); d != "" {
			t.Errorf("claims differ after a round trip (-want +got):\n%s", d)
		}
	})
}

func FuzzOpening(f *testing.F) {
	data, _ := AppendOpenings(nil, [][]byte{[]byte("a"), nil, []byte("bc")})
	f.Add(data, 3, 2)
	f.Fuzz(func(t *testing.T, data []byte, count, i int) {
		start, end, err := OpeningSpan(data, count, i)
		if err == nil && (start > end || end > int64(len(data))) {
			t.Errorf("opening %d of %x spans %d to %d", i, data, start, end)
		}
	})
}
