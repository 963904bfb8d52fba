// Package lazyregexp is regular expressions that are compiled when they are first used. A
// hook's program lives for some milliseconds, and compiling what it has no use for was a
// tenth of them.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression. Its methods are those of regexp.Regexp.
type Regexp struct{ compiled func() *regexp.Regexp }

// New returns a regular expression. One that is wrong panics when it is first used; a
// test of this package compiles all that the project has.
func New(text string) *Regexp {
	return &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

func (r *Regexp) Match(b []byte) bool                    { return r.compiled().Match(b) }
func (r *Regexp) MatchString(s string) bool              { return r.compiled().MatchString(s) }
func (r *Regexp) Find(b []byte) []byte                   { return r.compiled().Find(b) }
func (r *Regexp) FindString(s string) string             { return r.compiled().FindString(s) }
func (r *Regexp) FindStringIndex(s string) []int         { return r.compiled().FindStringIndex(s) }
func (r *Regexp) FindSubmatch(b []byte) [][]byte         { return r.compiled().FindSubmatch(b) }
func (r *Regexp) FindAllString(s string, n int) []string { return r.compiled().FindAllString(s, n) }
func (r *Regexp) FindStringSubmatch(s string) []string   { return r.compiled().FindStringSubmatch(s) }
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}
func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(s, n)
}
func (r *Regexp) ReplaceAllString(s, with string) string {
	return r.compiled().ReplaceAllString(s, with)
}
func (r *Regexp) ReplaceAllLiteralString(s, with string) string {
	return r.compiled().ReplaceAllLiteralString(s, with)
}
func (r *Regexp) ReplaceAllStringFunc(s string, f func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(s, f)
}
