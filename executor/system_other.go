//go:build !linux && !darwin && !windows

package executor

func systemDisk() string                                   { return "/" }
func kernel() string                                       { return "" }
func processor() (model string, load []float64)            { return "", nil }
func memory() (m memoryInfo)                               { return m }
func disk(string) (total, free, available uint64, ok bool) { return 0, 0, 0, false }
