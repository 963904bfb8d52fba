package hook

import "errors"

// onlyRoots refuses: where the machine's settings are on Windows is not known.
func onlyRoots(string) error {
	return errors.New("the machine's settings are not written on Windows")
}
