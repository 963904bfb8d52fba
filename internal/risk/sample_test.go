package risk

import "testing"

// TestSampleWeights: what pages and fixtures show as examples weighs little, and what only
// looks like them weighs as much as any other.
func TestSampleWeights(t *testing.T) {
	const head = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ."
	for _, tt := range []struct {
		text  string
		light bool
	}{
		{head + "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c", true},
		{head + "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5d", false},
		{"postgres://app:app@db:5432/app", true},
		{"postgres://postgres:postgres@localhost/x", true},
		{"amqp://guest:guest@localhost", true},
		{"postgres://App:app@db:5432/app", true},
		{"postgres://app:app2@db:5432/app", false},
		{"postgres://app:rootroot9Zq@db:5432/app", false},
		{"sk_test_4eC39HqLyjWDarjtT1zdp7dc", true},
		{"sk_live_4eC39HqLyjWDarjtT1zdp7dc", false},
		{`AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY`, true},
		{`AKIAIOSFODNN7QRSTUVW wJalrXUtnFEMI/K7MDENG/bPxRfiCYexq7LpKEY`, false},
	} {
		found := Scan(tt.text, Secret, nil)
		if len(found) == 0 {
			t.Errorf("%s: nothing found", tt.text)
		}
		for _, f := range found {
			if light := f.Score < 0.5; light != tt.light {
				t.Errorf("%s: %s weighs %v", tt.text, f.Code, f.Score)
			}
		}
	}
}
