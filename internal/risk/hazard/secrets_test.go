package hazard

import "testing"

func TestSedNames(t *testing.T) {
	for _, script := range []string{"s/=.*/=/", "s/=.*//", "s|=.*|=x|", "s/=.*$/=changeme/", "s#=.+#=#"} {
		if !sedNames(script) {
			t.Errorf("%s leaves values", script)
		}
	}
	for _, script := range []string{"", "s/x/y/", "s/=.*/&/", "s/=.*/=/;p", "p;s/=.*/=/", "s/\\(.*\\)=.*/\\1/", "s/=.*/=/w x", "s/a=.*/=/p;p"} {
		if sedNames(script) {
			t.Errorf("%s leaves no values", script)
		}
	}
}
