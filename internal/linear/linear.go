// Package linear is for tests that hostile input costs no more than its size: they
// compare the processor's time, which other programs on a busy machine hardly move,
// and never the clock on the wall.
package linear

import (
	"runtime"
	"testing"
	"time"
)

// CPU is how long work keeps the processor busy on its own thread. What it starts on
// others is not counted.
func CPU(work func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := threadTime()
	work()
	return threadTime() - began
}

// Process is how long work keeps processors busy on all threads of the program.
func Process(work func()) time.Duration {
	began := processTime()
	work()
	return processTime() - began
}

// Report has a benchmark tell the processor's time of all threads for each round, from
// now to the end of run.
func Report(b *testing.B, run func()) {
	b.ReportMetric(float64(Process(run).Nanoseconds())/1e3/float64(b.N), "cpu-µs/op")
}

// tries is how often work is measured: a processor that is shared is slower at times,
// and never faster.
const tries = 5

// Best is the least of several times that CPU tells, or the first that is at most
// enough.
func Best(enough time.Duration, work func()) time.Duration {
	best := CPU(work)
	for i := 1; i < tries && best > enough; i++ {
		best = min(best, CPU(work))
	}
	return best
}

// Check fails a test where four times as much takes more than eight times as long;
// where it grows with the square it takes sixteen times. of makes the work of a size.
func Check(t testing.TB, what string, n int, of func(n int) (work func())) {
	t.Helper()
	const floor = 2 * time.Millisecond // less than that cannot be compared
	small, large := of(n), of(4*n)
	short, long := CPU(small), CPU(large)
	for i := 1; i < tries && long > 8*short+floor; i++ {
		short, long = min(short, CPU(small)), min(long, CPU(large))
	}
	if long > 8*short+floor {
		t.Errorf("%s: %d take %s of the processor, and %d take %s", what, n, short, 4*n, long)
	}
}
