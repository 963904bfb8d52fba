package executor

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
)

func TestSystemInfo(t *testing.T) {
	e := NewSystemInfo(SystemInfoConfig{})
	v, err := try(t, e, `{}`).run(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	r := read[systemResult](t, v)
	if r.OS != runtime.GOOS || r.Arch != runtime.GOARCH || r.CPU == nil || r.CPU.Count != runtime.NumCPU() || r.Memory == nil || r.Hostname != "" {
		t.Errorf("%s", v)
	}
	if runtime.GOOS == "linux" {
		if r.Memory.Total < 1<<20 || r.Memory.Available == 0 || r.Memory.Available > r.Memory.Total || r.Kernel == "" || len(r.CPU.Load) != 3 {
			t.Errorf("%s", v)
		}
		if len(r.Disks) != 1 || r.Disks[0].Total == 0 || r.Disks[0].Percent < 0 || r.Disks[0].Percent > 100 {
			t.Errorf("%s", v)
		}
	}
	if name, _ := os.Hostname(); name != "" && strings.Contains(string(v), `"`+name+`"`) {
		t.Errorf("it tells the host's name: %s", v)
	}
	named := NewSystemInfo(SystemInfoConfig{Hostname: true, Disks: []string{"/does/not/exist"}})
	v, err = try(t, named, `{}`).run(t.Context(), named)
	if r := read[systemResult](t, v); err != nil || r.Hostname == "" || len(r.Disks) != 0 {
		t.Errorf("%s, %v", v, err)
	}
}

func TestSystemInfoOf(t *testing.T) {
	e := NewSystemInfo(SystemInfoConfig{})
	for resource, want := range map[string][3]bool{"cpu": {true, false, false}, "memory": {false, true, false}, "disk": {false, false, true}, "all": {true, true, true}} {
		v, err := try(t, e, `{"resource":"`+resource+`"}`).run(t.Context(), e)
		if r := read[systemResult](t, v); err != nil || [3]bool{r.CPU != nil, r.Memory != nil, r.Disks != nil} != want {
			t.Errorf("%s: %s, %v", resource, v, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := try(t, e, `{}`).run(ctx, e); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
