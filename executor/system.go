package executor

import (
	"context"
	"math"
	"os"
	"runtime"

	"reeve.example/reeve/act"

	"github.com/go-json-experiment/json/jsontext"
)

// SystemInfoConfig is for NewSystemInfo.
type SystemInfoConfig struct {
	// Disks are directories of the file systems to tell of; nil means the one that
	// the system is on.
	Disks []string
	// Hostname tells the machine's name too.
	Hostname bool
}

// NewSystemInfo returns system_info_executor, which tells of the machine that the
// node runs on. It starts no program, and leaves out what cannot be known.
func NewSystemInfo(c SystemInfoConfig) Executor {
	if c.Disks == nil {
		c.Disks = []string{systemDisk()}
	}
	return &systemInfo{c}
}

type systemInfo struct{ config SystemInfoConfig }

func (e *systemInfo) Describe() Description {
	return Description{
		ID:           "system_info_executor",
		Name:         "System information",
		Description:  "Tells of the processors, the memory and the disks of the machine that the node runs on.",
		Tags:         []string{"system", "cpu", "memory", "disk"},
		InputSchema:  systemSchema,
		ResultSchema: systemResultSchema,
		Manifest:     act.Manifest{TimeoutSeconds: 30},
		Enforces:     networkLimits, // it reaches nothing
		Idempotent:   true,
	}
}

var systemSchema = jsontext.Value(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "resource": {"enum": ["cpu", "memory", "disk", "all"], "default": "all", "description": "What to tell of."},
    "timeout": {"type": "number", "exclusiveMinimum": 0, "description": "Seconds that it may take; never more than the manifest allows."}
  },
  "additionalProperties": true
}`)

// systemResult is what is known. Sizes are bytes.
type systemResult struct {
	OS       string      `json:"os"`
	Arch     string      `json:"arch"`
	Kernel   string      `json:"kernel,omitzero"`
	Hostname string      `json:"hostname,omitzero"`
	CPU      *cpuInfo    `json:"cpu,omitzero"`
	Memory   *memoryInfo `json:"memory,omitzero"`
	Disks    []diskInfo  `json:"disk,omitzero"`
}

type cpuInfo struct {
	Count int       `json:"count"` // that the node may use
	Model string    `json:"model,omitzero"`
	Load  []float64 `json:"load_average,omitzero"` // of 1, 5 and 15 minutes
}

type memoryInfo struct {
	Total     uint64  `json:"total,omitzero"`
	Available uint64  `json:"available,omitzero"`
	Used      uint64  `json:"used,omitzero"`
	Percent   float64 `json:"used_percent,omitzero"`
	SwapTotal uint64  `json:"swap_total,omitzero"`
	SwapFree  uint64  `json:"swap_free,omitzero"`
}

type diskInfo struct {
	Path      string  `json:"path"`
	Total     uint64  `json:"total"`
	Available uint64  `json:"available"` // to who is not root
	Used      uint64  `json:"used"`
	Percent   float64 `json:"used_percent"`
}

func (e *systemInfo) Execute(ctx context.Context, job *Job) (jsontext.Value, error) {
	var in struct {
		Resource string   `json:"resource"`
		Timeout  *float64 `json:"timeout"`
	}
	if err := decode(job, &in); err != nil {
		return nil, err
	}
	switch in.Resource {
	case "", "all", "cpu", "memory", "disk":
	default:
		return nil, final("the input \"resource\" must be \"cpu\", \"memory\", \"disk\" or \"all\"")
	}
	ctx, cancel, err := limited(ctx, job.Manifest, in.Timeout)
	if err != nil {
		return nil, err
	}
	defer cancel()
	// A network file system whose server is gone answers never.
	done := make(chan systemResult, 1)
	go func() { done <- e.look(in.Resource) }()
	select {
	case r := <-done:
		return encode(r)
	case <-ctx.Done():
		return nil, ended(ctx)
	}
}

func (e *systemInfo) look(resource string) systemResult {
	all := resource == "" || resource == "all"
	r := systemResult{OS: runtime.GOOS, Arch: runtime.GOARCH, Kernel: kernel()}
	if e.config.Hostname {
		r.Hostname, _ = os.Hostname()
	}
	if all || resource == "cpu" {
		model, load := processor()
		r.CPU = &cpuInfo{Count: runtime.NumCPU(), Model: model, Load: load}
	}
	if all || resource == "memory" {
		m := memory()
		if m.Total >= m.Available && m.Available > 0 {
			m.Used = m.Total - m.Available
			m.Percent = share(m.Used, m.Total)
		}
		r.Memory = &m
	}
	if all || resource == "disk" {
		r.Disks = []diskInfo{}
		for _, path := range e.config.Disks {
			if total, free, available, ok := disk(path); ok && total > 0 && free <= total {
				r.Disks = append(r.Disks, diskInfo{path, total, available, total - free, share(total-free, total)})
			}
		}
	}
	return r
}

// share is a part in per cent.
func share(part, of uint64) float64 { return math.Round(float64(part)/float64(of)*1000) / 10 }
