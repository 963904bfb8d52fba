package canon

import (
	"strings"
	"testing"
)

func FuzzMember(f *testing.F) {
	for _, pair := range [][2]string{
		{"path", "Path"}, {"file_path", "filePath"}, {"size", "ſize"}, {"key", "\u212aey"}, {"id", "ıd"}, {"id", "İD"},
		{"_path", "path"}, {"-", "_"}, {"a_", "a"}, {"path", "pat"}, {"", "_"}, {"\xff", "\ufffd"},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if got, want := SameMember(a, b), FoldMember(a) == FoldMember(b); got != want {
			t.Errorf("SameMember(%q, %q) is %v, and their forms are %q and %q", a, b, got, FoldMember(a), FoldMember(b))
		}
		if !SameMember(a, a) || !SameMember(a, FoldMember(a)) && !strings.HasPrefix(a, "İ") {
			t.Errorf("%q is not itself", a)
		}
		// Whom encoding/json takes for one, we do.
		if strings.EqualFold(a, b) && !SameMember(a, b) {
			t.Errorf("%q and %q are one without case", a, b)
		}
	})
}
