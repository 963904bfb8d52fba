//go:build !linux

package linear

import "time"

var began = time.Now()

// threadTime is the clock's where the system does not tell a thread's.
func threadTime() time.Duration { return time.Since(began) }

func processTime() time.Duration { return threadTime() }
