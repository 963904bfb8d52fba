package main

import (
	"testing"
	"testing/fstest"
)

func TestGroupMemory(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for name, tt := range map[string]struct {
		root fstest.MapFS
		want int64
	}{
		"no groups":     {fstest.MapFS{}, 0},
		"no limit":      {fstest.MapFS{"proc/self/cgroup": file("0::/a\n"), "sys/fs/cgroup/a/memory.max": file("max\n")}, 0},
		"own":           {fstest.MapFS{"proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/memory.max": file("536870912\n")}, 536870912},
		"above":         {fstest.MapFS{"proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/memory.max": file("536870912\n"), "sys/fs/cgroup/a/memory.max": file("268435456\n")}, 268435456},
		"container":     {fstest.MapFS{"proc/self/cgroup": file("0::/../../host\n"), "sys/fs/cgroup/memory.max": file("1073741824\n")}, 1073741824},
		"version 1":     {fstest.MapFS{"proc/self/cgroup": file("5:cpu,memory:/x\n1:cpu:/x\n0::/\n"), "sys/fs/cgroup/memory/x/memory.limit_in_bytes": file("1000000\n"), "sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n")}, 1000000},
		"not a number":  {fstest.MapFS{"proc/self/cgroup": file("0::/\nnonsense\n"), "sys/fs/cgroup/memory.max": file("-1\n")}, 0},
		"another group": {fstest.MapFS{"proc/self/cgroup": file("2:cpu:/x\n"), "sys/fs/cgroup/memory/x/memory.limit_in_bytes": file("1000000\n")}, 0},
	} {
		if got := groupMemory(tt.root); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
