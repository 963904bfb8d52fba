//go:build !race || !linux

package sandbox

const raceMB = 0
