package deploy

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

// release reads what is released as goreleaser does: with its own types, strictly.
func release(t *testing.T) config.Project {
	t.Helper()
	t.Chdir("..") // paths in it are those of the repository
	project, err := config.Load(".goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// TestRelease: the configuration of releases names what is there, and builds for every
// system that is promised.
func TestRelease(t *testing.T) {
	project := release(t)
	for _, b := range project.Builds {
		if fmt.Sprint(b.Goos, b.Goarch, b.Env) != "[linux darwin windows] [amd64 arm64] [CGO_ENABLED=0]" {
			t.Errorf("%s is built for %v %v with %v", b.ID, b.Goos, b.Goarch, b.Env)
		}
		if _, err := os.Stat(b.Main); err != nil {
			t.Error(err)
		}
	}
	there := func(path string) {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	for _, p := range project.NFPMs {
		for _, c := range p.Contents {
			there(c.Source)
		}
		for _, script := range []string{p.Scripts.PostInstall, p.Scripts.PreRemove, p.Scripts.PostRemove} {
			there(script)
			if out, err := exec.Command("sh", "-n", script).CombinedOutput(); err != nil {
				t.Errorf("%s: %v %s", script, err, out)
			}
		}
	}
	if len(project.Builds) != 2 || len(project.NFPMs) != 1 || len(project.Casks) != 1 || len(project.Signs) != 1 || len(project.SBOMs) != 1 {
		t.Error("something is not released")
	}
}

// dist is the folder with what scripts/release --snapshot built, as a release would.
func dist(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../dist")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "SHA256SUMS")); err != nil {
		t.Fatalf("there is no snapshot of a release to look at: run scripts/release --snapshot first (%v)", err)
	}
	return dir
}

// one is the one file of a pattern.
func one(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%d files %s: %v, %v", len(found), pattern, found, err)
	}
	return found[0]
}

// TestSnapshot: all that is promised was built, the sums are those of the files, each program
// is static and was built reproducibly, and each has its bill of materials.
func TestSnapshot(t *testing.T) {
	dir := dist(t)
	text, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sums[name] = sum
	}
	summed := func(pattern string) {
		t.Helper()
		file := one(t, dir, pattern)
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(content)); sums[filepath.Base(file)] != got {
			t.Errorf("%s: the sum is %s, and SHA256SUMS says %q", file, got, sums[filepath.Base(file)])
		}
	}
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, arch := range []string{"amd64", "arm64"} {
			form, suffix := "tar.gz", ""
			if system == "windows" {
				form, suffix = "zip", ".exe"
			}
			summed(fmt.Sprintf("reeve_*_%s_%s.%s", system, arch, form))
			for _, program := range []string{"reeve", "reeve-hook"} {
				file := one(t, dir, fmt.Sprintf("%s_%s_%s*/%s%s", program, system, arch, program, suffix))
				built(t, file, system, arch)
				bill(t, one(t, dir, fmt.Sprintf("%s_*_%s_%s.cdx.json", program, system, arch)), file)
			}
		}
	}
	for _, pattern := range []string{"reeve_*_amd64.deb", "reeve_*_arm64.deb", "reeve-*.x86_64.rpm", "reeve-*.aarch64.rpm"} {
		summed(pattern)
	}
	cask, err := os.ReadFile(one(t, dir, "homebrew/Casks/reeve.rb"))
	if err != nil {
		t.Fatal(err)
	}
	for name, sum := range sums {
		if strings.Contains(name, "_darwin_") && strings.HasSuffix(name, ".tar.gz") && !strings.Contains(string(cask), sum) {
			t.Errorf("the cask does not have the sum of %s", name)
		}
	}
}

// built looks at what a program was built from, and that it needs no other.
func built(t *testing.T, file, system, arch string) {
	t.Helper()
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" || settings["GOOS"] != system || settings["GOARCH"] != arch {
		t.Errorf("%s was built with %v", file, settings)
	}
	if system == "linux" {
		static(t, file)
	}
}

// static says that a program needs no interpreter and no library.
func static(t *testing.T, file string) {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if libraries, err := f.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("%s needs %v, %v", file, libraries, err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Errorf("%s needs an interpreter", file)
		}
	}
}

// bill holds a bill of materials against the program that it is of.
func bill(t *testing.T, file, program string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var b struct {
		Format     string `json:"bomFormat"`
		Components []struct {
			Ref      string `json:"bom-ref"`
			Version  string `json:"version"`
			Licences []any  `json:"licenses"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &b); err != nil || b.Format != "CycloneDX" {
		t.Fatalf("%s: %v", file, err)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, c := range b.Components {
		if versions[c.Ref] = c.Version; len(c.Licences) == 0 {
			t.Errorf("%s: %s has no licence", file, c.Ref)
		}
	}
	for _, m := range info.Deps {
		if versions[m.Path] != m.Version {
			t.Errorf("%s: %s is %q, and the program has %s", file, m.Path, versions[m.Path], m.Version)
		}
	}
	if versions["go"] != info.GoVersion || len(versions) != len(info.Deps)+1 {
		t.Errorf("%s: %d components, Go %q; the program has %d modules and is of %s", file, len(versions), versions["go"], len(info.Deps), info.GoVersion)
	}
}

// needs ends a test that cannot be made here. On Linux that is a fault of the machine, and
// not a reason to know less.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("this is about Linux")
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Fatalf("this test needs the program %s: scripts/test-needs check installs it", p)
		}
	}
}

// needsRoot ends a test that makes name spaces and mounts in them.
func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("this test makes a copy of this system, or a system of its own, and needs root for that: run it with sudo -E")
	}
}

// TestPackages installs the deb in a copy of this system, starts the node as its unit says,
// asks it, and removes the package, which names the agents that it leaves blocked.
func TestPackages(t *testing.T) {
	needs(t, "dpkg", "unshare", "setpriv", "script", "curl", "ip")
	needsRoot(t)
	deb := one(t, dist(t), "reeve_*_"+runtime.GOARCH+".deb")
	dir := t.TempDir()
	if out, err := exec.Command("unshare", "--mount", "sh", "-ec", overlay, "sh", dir, "true").CombinedOutput(); err != nil {
		t.Fatalf("no overlay of this system can be mounted, which the test of the package needs: a container must be privileged for it (%v: %s)", err, out)
	}
	// In a name space of processes of its own, so that nothing is left running.
	script, err := filepath.Abs("testdata/install.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--mount-proc", "sh", "-ec", overlay, "sh", dir,
		"sh", script, deb)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"uid=[0-9]+\\(reeve\\)",
		"drwx------ reeve reeve .*/var/lib/reeve",
		`"status":"ready"`,
		`"decision":"deny"`,
		"(?s)will be BLOCKED without it:\n  claude-code of root: /root/\\.claude/settings\\.json\n",
		"still there: /var/lib/reeve",
	} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("not in the output: %s", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// overlay gives a command a root that is this system, and to which it writes without
// changing it.
const overlay = `
mount -t tmpfs reeve "$1"
mkdir "$1/up" "$1/work" "$1/root"
mount -t overlay reeve -o "lowerdir=/,upperdir=$1/up,workdir=$1/work" "$1/root"
mount --rbind /proc "$1/root/proc"
mount --rbind /dev "$1/root/dev"
mkdir -p "$1/root$1"
for file in "$@"; do
	case "$file" in *.deb | *.sh) cp "$file" "$1/root/tmp/" ;; esac
done
dir=$1
shift
exec chroot "$dir/root" "$@"
`

// TestUnit: systemd reads the unit without a complaint.
func TestUnit(t *testing.T) {
	needs(t, "systemd-analyze")
	text, err := os.ReadFile("package/reeve.service")
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "reeve.service")
	if err := os.WriteFile(unit, bytes.ReplaceAll(text, []byte("/usr/bin/reeve"), []byte("/bin/true")), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", unit).CombinedOutput(); err != nil || strings.Contains(string(out), "reeve.service") {
		t.Errorf("%v\n%s", err, out)
	}
}
