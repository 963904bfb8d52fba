package deploy

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
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
	for _, d := range project.DockersV2 {
		there(d.Dockerfile)
	}
	if len(project.Builds) != 2 || len(project.NFPMs) != 1 || len(project.DockersV2) != 1 || len(project.Casks) != 1 || len(project.Signs) != 1 || len(project.SBOMs) != 2 {
		t.Error("something is not released")
	}
}

// snapshot builds the programs and packages of this system, as the configuration says, and
// returns the packages' paths by format.
func snapshot(t *testing.T) map[string]string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("packages are for Linux")
	}
	dir := t.TempDir()
	project := release(t)
	p := project.NFPMs[0]
	info := &nfpm.Info{
		Name: p.PackageName, Arch: runtime.GOARCH, Platform: "linux", Version: "0.0.1-dev", Section: p.Section, Priority: "optional",
		Maintainer: p.Maintainer, Vendor: p.Vendor, Homepage: p.Homepage, License: p.License, Description: p.Description,
	}
	for _, c := range p.Contents {
		info.Contents = append(info.Contents, &files.Content{Source: c.Source, Destination: c.Destination, Type: c.Type})
	}
	info.Scripts.PostInstall, info.Scripts.PreRemove, info.Scripts.PostRemove = p.Scripts.PostInstall, p.Scripts.PreRemove, p.Scripts.PostRemove
	for _, b := range project.Builds {
		program := filepath.Join(dir, b.Binary)
		cmd := exec.Command("go", append(append([]string{"build", "-o", program}, b.Flags...), "-ldflags="+strings.Join(b.Ldflags, " "), b.Main)...)
		cmd.Env = append(os.Environ(), b.Env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		info.Contents = append(info.Contents, &files.Content{Source: program, Destination: filepath.Join(p.Bindir, b.Binary), FileInfo: &files.ContentFileInfo{Mode: 0o755}})
	}
	packages := map[string]string{}
	for _, format := range p.Formats {
		packager, err := nfpm.Get(format)
		if err != nil {
			t.Fatal(err)
		}
		one := *info // each packager changes what it is given
		one.Contents = nil
		for _, c := range info.Contents {
			copied := *c
			one.Contents = append(one.Contents, &copied)
		}
		var b bytes.Buffer
		if err := packager.Package(nfpm.WithDefaults(&one), &b); err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		packages[format] = filepath.Join(dir, packager.ConventionalFileName(&one))
		if err := os.WriteFile(packages[format], b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return packages
}

// TestPackages installs the deb in a copy of this system, starts the node as its unit says,
// asks it, and removes the package, which names the agents that it leaves blocked.
func TestPackages(t *testing.T) {
	packages := snapshot(t)
	if info, err := os.Stat(packages["rpm"]); err != nil || info.Size() < 5<<20 {
		t.Errorf("the rpm: %v, %v", info, err)
	}
	if _, err := exec.LookPath("dpkg"); err != nil || os.Geteuid() != 0 {
		t.Skip("needs dpkg, and root to make a copy of this system")
	}
	dir := t.TempDir()
	if err := exec.Command("unshare", "--mount", "sh", "-ec", overlay, "sh", dir, "true").Run(); err != nil {
		t.Skipf("no overlay of this system can be mounted: %v", err)
	}
	// In a name space of processes of its own, so that nothing is left running.
	script, err := filepath.Abs("deploy/testdata/install.sh")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--mount-proc", "sh", "-ec", overlay, "sh", dir,
		"sh", script, packages["deb"])
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
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("no systemd here")
	}
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
