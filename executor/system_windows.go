package executor

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

func systemDisk() string {
	if d := os.Getenv("SystemDrive"); d != "" {
		return d + `\`
	}
	return `C:\`
}

func kernel() string {
	v := windows.RtlGetVersion()
	return fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
}

func processor() (model string, load []float64) { return os.Getenv("PROCESSOR_IDENTIFIER"), nil }

// memoryStatus is what GlobalMemoryStatusEx fills in.
type memoryStatus struct {
	length, load                                                      uint32
	total, available, pageTotal, pageFree, virtual, free, extendedAll uint64
}

var globalMemoryStatus = windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")

func memory() (m memoryInfo) {
	s := memoryStatus{}
	s.length = uint32(unsafe.Sizeof(s))
	if ok, _, _ := globalMemoryStatus.Call(uintptr(unsafe.Pointer(&s))); ok != 0 {
		m.Total, m.Available = s.total, s.available
	}
	return m
}

func disk(path string) (total, free, available uint64, ok bool) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil || windows.GetDiskFreeSpaceEx(p, &available, &total, &free) != nil {
		return 0, 0, 0, false
	}
	return total, free, available, true
}
