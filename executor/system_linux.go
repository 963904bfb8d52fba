package executor

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
)

// fields reads a file of /proc whose lines are names and values.
func fields(path string, found func(name, value string)) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, 1<<20))
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok {
			found(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
}

func processor() (model string, load []float64) {
	fields("/proc/cpuinfo", func(name, value string) {
		if model == "" && name == "model name" {
			model = value
		}
	})
	text, _ := os.ReadFile("/proc/loadavg")
	for _, f := range strings.Fields(string(text)) {
		n, err := strconv.ParseFloat(f, 64)
		if err != nil || len(load) == 3 {
			break
		}
		load = append(load, n)
	}
	return model, load
}

func memory() (m memoryInfo) {
	into := map[string]*uint64{"MemTotal": &m.Total, "MemAvailable": &m.Available, "SwapTotal": &m.SwapTotal, "SwapFree": &m.SwapFree}
	fields("/proc/meminfo", func(name, value string) {
		if to := into[name]; to != nil {
			kb, _ := strconv.ParseUint(strings.TrimSuffix(value, " kB"), 10, 53)
			*to = kb << 10
		}
	})
	return m
}
