// Package secret reads secrets from where a configuration says they are.
package secret

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

const longest = 64 << 10 // bytes of a file

// Read reads the secret that a configuration names by reference: env:NAME for an
// environment variable, file:PATH for a file, whose final newline does not count.
// The secret itself is never taken, and never part of an error.
func Read(ref string) ([]byte, error) {
	kind, name, _ := strings.Cut(ref, ":")
	switch {
	case kind == "env" && name != "":
		value, ok := os.LookupEnv(name)
		if !ok || value == "" {
			return nil, fmt.Errorf("the environment variable %s, which holds a secret, is not set", name)
		}
		return []byte(value), nil
	case kind == "file" && name != "":
		text, err := readFile(name)
		if err != nil {
			return nil, fmt.Errorf("read a secret: %w", err)
		}
		text = strings.TrimRight(text, "\r\n")
		if text == "" {
			return nil, fmt.Errorf("the file %s, which holds a secret, is empty", name)
		}
		return []byte(text), nil
	}
	return nil, errors.New("a secret is not written into the configuration: name where it is, as env:NAME or file:PATH")
}

func readFile(name string) (string, error) {
	info, err := os.Stat(name)
	if given, read := pipes.Load(name); read && err == nil && !info.Mode().IsRegular() {
		return given.(string), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, longest+1))
	if err == nil && len(text) > longest {
		err = fmt.Errorf("%s is larger than %d bytes", name, longest)
	}
	if err == nil && info != nil && !info.Mode().IsRegular() {
		pipes.Store(name, string(text))
	}
	return string(text), err
}

// pipes are what was read of files that give it once, by their names: a setting is looked at
// before a node is opened with it.
var pipes sync.Map
