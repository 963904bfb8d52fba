//go:build !unix

package guardian

// ofOthers reports whether a file or folder may be another user's: there is no place here in which all
// users put theirs.
func ofOthers(string) bool { return false }
