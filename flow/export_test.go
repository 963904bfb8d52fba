package flow

import (
	"maps"
	"slices"
)

// Methods are the names of all methods.
func Methods() []string { return slices.Sorted(maps.Keys(methods)) }
