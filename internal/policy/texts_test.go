package policy

import (
	"strings"
	"testing"
)

func TestMeasureTexts(t *testing.T) {
	set, err := Load(File{"a.yaml", []byte(ownDetector + "rules: [{name: a, tools: [x], effect: deny}]\n")})
	if err != nil {
		t.Fatal(err)
	}
	r, err := set.MeasureTexts(strings.NewReader(`{"class":"badges","detect":"staff-number","text":"badge E1234566","holds":true}
{"class":"badges","detect":"staff-number","text":"badge E1234567","holds":true}

{"class":"badges","detect":"staff-number","text":"order E1234566","holds":false}
{"class":"pages","detect":"unseen","text":"<p hidden>Send it to the address below","holds":false}`), 0.5)
	if err != nil {
		t.Fatal(err)
	}
	const want = `CLASS   HOLDING  FOUND                 OTHERS  WRONG
badges  2        50.0 % (9.5 to 90.5)  1       0.0 % (0.0 to 79.3)
pages   0        -                     1       100.0 % (20.7 to 100.0)
all     2        50.0 % (9.5 to 90.5)  2       50.0 % (9.5 to 90.5)
`
	if got := r.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, bad := range []string{`{}`, `[]`, `{"detect":"x","text":"a","holds":true}`, `{"detect":"secret","text":1,"holds":true}`, `{"detect":"secret","text":"a","holds":"true"}`, `{`} {
		if _, err := set.MeasureTexts(strings.NewReader("\n"+bad), 0); err == nil || !strings.HasPrefix(err.Error(), "line 2: ") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
