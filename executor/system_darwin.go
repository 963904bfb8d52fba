package executor

import "golang.org/x/sys/unix"

func processor() (model string, load []float64) {
	model, _ = unix.Sysctl("machdep.cpu.brand_string")
	return model, nil
}

// memory is the total only: how much is free is not told without cgo.
func memory() (m memoryInfo) {
	m.Total, _ = unix.SysctlUint64("hw.memsize")
	return m
}
