package sandbox

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"reeve.example/reeve/act"
)

// modest is a manifest that allows something.
var modest = act.Manifest{MaxMemoryMB: 100 + raceMB, MaxCPUPercent: 100, TimeoutSeconds: 10}

func state(limits []Limit, name string) string {
	for _, l := range limits {
		if l.Name == name {
			return l.State
		}
	}
	return ""
}

// TestRefusals takes away what holds a limit, and looks whether Plan says so.
func TestRefusals(t *testing.T) {
	whole := machine{landlock: 7, seccomp: true, namespaces: true, user: true, root: true, children: true,
		cgroups: &cgroupTree{v2: "/x", on: []string{"memory", "cpu", "pids", "kill"}}}
	if _, _, err := whole.plan(act.Manifest{}); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "max_memory_mb is 0, which allows nothing") {
		t.Errorf("the zero manifest: %v", err)
	}
	dir := t.TempDir()
	nested := modest
	nested.FilesystemScope, nested.FilesystemRead = []string{dir}, []string{filepath.Join(dir, "lib")}
	if err := os.Mkdir(nested.FilesystemRead[0], 0o755); err != nil {
		t.Fatal(err)
	}
	domains := modest
	domains.NetworkAllowed, domains.AllowedDomains = true, []string{"example.com"}
	blocked := modest
	blocked.NetworkAllowed, blocked.BlockedDomains = true, []string{"example.com"}
	for name, c := range map[string]struct {
		less  func(*machine)
		m     act.Manifest
		limit string
		state string
	}{
		"nothing is missing":                     {func(*machine) {}, modest, "max_memory_mb", Enforced},
		"no cgroup, memory":                      {func(mc *machine) { mc.cgroups = nil }, modest, "max_memory_mb", Partly},
		"no cgroup, CPU":                         {func(mc *machine) { mc.cgroups = nil }, modest, "max_cpu_percent", Partly},
		"no cgroup and no children":              {func(mc *machine) { mc.cgroups, mc.children = nil, false }, modest, "max_memory_mb", NotEnforced},
		"no cgroup and no children, CPU":         {func(mc *machine) { mc.cgroups, mc.children = nil, false }, modest, "max_cpu_percent", NotEnforced},
		"no namespaces":                          {func(mc *machine) { mc.namespaces, mc.root = false, false }, modest, "timeout_seconds", Enforced},
		"no namespaces and no cgroup":            {func(mc *machine) { mc.namespaces, mc.root, mc.cgroups = false, false, nil }, modest, "timeout_seconds", Partly},
		"no namespaces, signals not held":        {func(mc *machine) { mc.namespaces, mc.root, mc.landlock = false, false, 5 }, modest, "timeout_seconds", Partly},
		"no namespaces, network":                 {func(mc *machine) { mc.namespaces, mc.root = false, false }, modest, "network_allowed", Enforced},
		"no seccomp":                             {func(mc *machine) { mc.seccomp = false }, modest, "network_allowed", Partly},
		"no seccomp and no namespaces":           {func(mc *machine) { mc.seccomp, mc.namespaces, mc.root = false, false, false }, modest, "network_allowed", NotEnforced},
		"no seccomp and no namespaces, files":    {func(mc *machine) { mc.seccomp, mc.namespaces, mc.root = false, false, false }, modest, "filesystem_scope", NotEnforced},
		"no Landlock":                            {func(mc *machine) { mc.landlock = 0 }, modest, "filesystem_scope", Enforced},
		"an old Landlock, no root":               {func(mc *machine) { mc.landlock, mc.root = 2, false }, modest, "filesystem_scope", NotEnforced},
		"no Landlock and no root":                {func(mc *machine) { mc.landlock, mc.root = 0, false }, modest, "filesystem_scope", NotEnforced},
		"read-only in writable":                  {func(*machine) {}, nested, "filesystem_read", Enforced},
		"read-only in writable, no root":         {func(mc *machine) { mc.root = false }, nested, "filesystem_read", Partly},
		"domains":                                {func(*machine) {}, domains, "allowed_domains", Enforced},
		"domains, no namespaces":                 {func(mc *machine) { mc.namespaces, mc.root = false, false }, domains, "allowed_domains", NotEnforced},
		"domains, no seccomp":                    {func(mc *machine) { mc.seccomp = false }, domains, "allowed_domains", NotEnforced},
		"blocked domains, no namespaces":         {func(mc *machine) { mc.namespaces, mc.root = false, false }, blocked, "blocked_domains", NotEnforced},
		"blocked domains":                        {func(*machine) {}, blocked, "blocked_domains", Enforced},
		"no cgroup, but as much CPU as there is": {func(mc *machine) { mc.cgroups = nil }, act.Manifest{MaxMemoryMB: 1, MaxCPUPercent: 100_000, TimeoutSeconds: 1}, "max_cpu_percent", Enforced},
	} {
		t.Run(name, func(t *testing.T) {
			mc := whole
			c.less(&mc)
			p, _, err := mc.plan(c.m)
			if err != nil {
				t.Fatal(err)
			}
			if got := state(p.limits, c.limit); got != c.state {
				t.Errorf("%s is %q, want %q", c.limit, got, c.state)
			}
			if refused := p.err() != nil && strings.Contains(p.err().Error(), c.limit+" cannot be enforced here"); refused != (c.state != Enforced) {
				t.Errorf("refused: %v, %v", refused, p.err())
			}
			c.m.Advisory = []string{c.limit}
			p, _, err = mc.plan(c.m)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range p.limits {
				if said := strings.Contains(l.Detail, "run although it is not enforced"); said != (l.Name == c.limit && c.state != Enforced) {
					t.Errorf("advisory: %+v", l)
				}
			}
			if err := p.err(); err != nil && strings.Contains(err.Error(), c.limit+" cannot") {
				t.Errorf("advisory, and refused: %v", err)
			}
		})
	}
}

// TestThisMachineRefuses runs nothing where something is missing.
func TestThisMachineRefuses(t *testing.T) {
	full, err := thisMachine()
	if err != nil {
		t.Fatal(err)
	}
	bare := &machine{}
	o, err := bare.run(t.Context(), modest, Command{Args: []string{"/bin/true"}})
	if !errors.Is(err, ErrRefused) || o.Limits != nil {
		t.Errorf("%+v, %v", o, err)
	}
	if limits, err := Plan(modest); err != nil {
		t.Logf("this machine refuses: %v", err)
		if full.cgroups.has("memory") && full.cgroups.has("cpu") && full.root {
			t.Error("and has no reason to")
		}
	} else if len(limits) != 5 {
		t.Errorf("%+v", limits)
	}
	planted, private := publicDir(t), filepath.Join(publicDir(t), "tool")
	os.WriteFile(private, nil, 0o755)
	os.Symlink(private, planted+"/tool")
	for name, c := range map[string]struct {
		change func(*act.Manifest)
		c      Command
		want   string
	}{
		"negative":          {func(m *act.Manifest) { m.TimeoutSeconds = -1 }, Command{}, "timeout_seconds is -1"},
		"too much":          {func(m *act.Manifest) { m.MaxMemoryMB = 1 << 40 }, Command{}, "max_memory_mb is"},
		"nothing to run":    {func(*act.Manifest) {}, Command{}, "no command"},
		"a blocked pattern": {func(m *act.Manifest) { m.BlockedPatterns = []string{"rm -rf"} }, Command{Args: []string{"sh", "-c", "cd /; rm -rf *"}}, `argument 2 holds "rm -rf"`},
		"not found":         {func(*act.Manifest) {}, Command{Args: []string{"no-such-program"}}, "is not found in"},
		"no program":        {func(*act.Manifest) {}, Command{Args: []string{"/etc/passwd"}}, "is no program"},
		"a device":          {func(*act.Manifest) {}, Command{Args: []string{"/dev/null"}}, "is no program"},
		"relative scope":    {func(m *act.Manifest) { m.FilesystemScope = []string{"./ws"} }, Command{Args: []string{"true"}}, "is not an absolute path"},
		"climbing scope":    {func(m *act.Manifest) { m.FilesystemScope = []string{"/ws/../etc"} }, Command{Args: []string{"true"}}, "climbs"},
		"the cgroups":       {func(m *act.Manifest) { m.FilesystemScope = []string{"/sys/fs/cgroup"} }, Command{Args: []string{"true"}}, "holds the sandbox itself"},
		"processes":         {func(m *act.Manifest) { m.FilesystemRead = []string{"/proc/**"} }, Command{Args: []string{"true"}}, "holds the sandbox itself"},
		"a zero byte":       {func(*act.Manifest) {}, Command{Args: []string{"true", "\x00"}}, "zero byte"},
		"relative dir":      {func(*act.Manifest) {}, Command{Args: []string{"true"}, Dir: "x"}, "is not absolute"},
		"dir outside":       {func(m *act.Manifest) { m.FilesystemScope = []string{t.TempDir()} }, Command{Args: []string{"true"}, Dir: "/root"}, "lies outside"},
		"a planted program": {func(m *act.Manifest) { m.FilesystemScope = []string{planted} }, Command{Args: []string{planted + "/tool"}}, "symlink out of"},
		"a foreign name":    {func(m *act.Manifest) { m.BlockedDomains = []string{"bücher.example"} }, Command{Args: []string{"true"}}, "xn--"},
	} {
		t.Run(name, func(t *testing.T) {
			m := modest
			m.Advisory = []string{"max_memory_mb", "max_cpu_percent", "timeout_seconds"}
			c.change(&m)
			if _, err := Run(t.Context(), m, c.c); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestStreams(t *testing.T) {
	for name, v := range machines(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := modest
			m.Advisory = v.advisory
			in := strings.Repeat("in and out ", 100_000)
			var out, errs bytes.Buffer
			o, err := v.run(t.Context(), m, Command{Args: []string{self(t), "attempt", "echo"}, Stdin: strings.NewReader(in), Stdout: &out, Stderr: &errs})
			if err != nil || o.ExitCode != 7 || o.Signal != "" || out.String() != in || errs.String() != "err" {
				t.Errorf("%+v %v %d %q", o, err, out.Len(), errs.String())
			}
			out.Reset()
			_, err = v.run(t.Context(), m, Command{Args: []string{self(t), "attempt", "env"}, Env: []string{"A=\xff"}, Stdout: &out})
			if err != nil || out.String() != "A=\xff\n" {
				t.Errorf("%q %v", out.String(), err)
			}
			o, err = v.run(t.Context(), m, Command{Args: []string{"sh", "-c", "kill -TERM $$"}})
			if err != nil || o.ExitCode != -1 || o.Signal != "SIGTERM" {
				t.Errorf("%+v %v", o, err)
			}
			// A reader that never ends does not hold the outcome back.
			r, w := io.Pipe()
			defer w.Close()
			if _, err := v.run(t.Context(), m, Command{Args: []string{"true"}, Stdin: r}); err != nil {
				t.Error(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if _, err := v.run(ctx, m, Command{Args: []string{"sleep", "5"}}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestMeasured(t *testing.T) {
	for name, v := range machines(t) {
		t.Run(name, func(t *testing.T) {
			m := modest
			m.Advisory = v.advisory
			o, _ := runAttempt(t, v.machine, m, "spin", "300ms")
			if o.Duration < 300*time.Millisecond || o.Duration > 3*time.Second || o.CPUPercent < 5 || o.CPUPercent > 130 || o.MemoryPeakMB < 1 || o.MemoryPeakMB > 60+raceMB {
				t.Errorf("%+v", o)
			}
			var names []string
			for _, l := range o.Limits {
				names = append(names, l.Name)
			}
			if diff := cmp.Diff([]string{"max_memory_mb", "max_cpu_percent", "timeout_seconds", "network_allowed", "filesystem_scope"}, names); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// fetch gets URLs through the proxy it was told of, then without it.
func fetch(urls []string) int {
	proxy, err := url.Parse(os.Getenv("HTTP_PROXY"))
	if err != nil || proxy.Host == "" {
		fmt.Println("no proxy", err)
		return 1
	}
	for _, u := range urls {
		for _, by := range []*url.URL{proxy, nil} {
			client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{Proxy: http.ProxyURL(by), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
			resp, err := client.Get(u)
			if err != nil {
				fmt.Println(by != nil, "failed")
				continue
			}
			b, _ := io.ReadAll(resp.Body)
			fmt.Println(by != nil, resp.StatusCode, strings.TrimSpace(string(b)))
		}
	}
	return 0
}

func TestProxied(t *testing.T) {
	ok := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "hello %s", r.Host) })
	plain, secure := httptest.NewServer(ok), httptest.NewTLSServer(ok)
	defer plain.Close()
	defer secure.Close()
	for name, v := range machines(t) {
		t.Run(name, func(t *testing.T) {
			m := modest
			m.Advisory, m.NetworkAllowed, m.AllowedDomains = v.advisory, true, []string{"127.0.0.1", "*.example.com"}
			if !v.namespaces {
				p, _, err := v.plan(m)
				if err != nil || p.err() == nil || !strings.Contains(p.err().Error(), "allowed_domains cannot be enforced here") {
					t.Errorf("%v, %v", err, p.err())
				}
				return
			}
			o, out := runAttempt(t, v.machine, m, "fetch", plain.URL, secure.URL, "http://127.0.0.2:1/", "http://evil.test/", "http://127.0.0.1.nip.test/")
			want := strings.Join([]string{
				"true 200 hello " + strings.TrimPrefix(plain.URL, "http://"), "false failed",
				"true 200 hello " + strings.TrimPrefix(secure.URL, "https://"), "false failed",
				"true 403 refused: the address 127.0.0.2 is not among the allowed domains", "false failed",
				`true 403 refused: "evil.test" is not among the allowed domains`, "false failed",
				`true 403 refused: "127.0.0.1.nip.test" is not among the allowed domains`, "false failed", ""}, "\n")
			if diff := cmp.Diff(want, out); diff != "" {
				t.Error(diff)
			}
			i := slices.IndexFunc(o.Limits, func(l Limit) bool { return l.Name == "allowed_domains" })
			if i < 0 || !strings.HasSuffix(o.Limits[i].Detail, "refused: 127.0.0.2, evil.test, 127.0.0.1.nip.test") {
				t.Errorf("%+v", o.Limits)
			}
		})
	}
}

// TestHostNetwork shows that the network is there when it is allowed, and only IP.
func TestHostNetwork(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for name, v := range machines(t) {
		t.Run(name, func(t *testing.T) {
			p, _ := newPlace(t)
			m := p.manifest()
			m.Advisory, m.NetworkAllowed = v.advisory, true
			host := fmt.Sprintf(`import socket
socket.create_connection(("127.0.0.1",%d))
for f in range(46):
    for k in (1,2,3,5):
        try: socket.socket(f,k); print(f); break
        except OSError: pass
for a in (%q, "\0"+%q):
    try: socket.socket(socket.AF_UNIX).connect(a); print("connected")
    except OSError: pass
`, server.Listener.Addr().(*net.TCPAddr).Port, p.at("outside/socket"), p.Abstract)
			var out bytes.Buffer
			o, err := v.run(t.Context(), m, Command{Args: []string{"/usr/bin/python3", "-c", host}, Stdout: &out, Stderr: &out})
			want := "2\n10\n16\n"
			if v.root && v.landlock >= 6 {
				want = "1\n" + want
			}
			if err != nil || o.ExitCode != 0 || out.String() != want {
				t.Errorf("%+v %v %s", o, err, out.String())
			}
		})
	}
}

func TestFilter(t *testing.T) {
	m := act.Manifest{AllowedDomains: []string{"example.com", "*.example.org", "10.1.0.0/16", "::1"}, BlockedDomains: []string{"bad.example.org", "10.1.2.3"}}
	f, err := newFilter(m)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{
		"example.com": true, "EXAMPLE.com.": true, "www.example.com": false, "www.example.org": true, "example.org": false, "bad.example.org": false,
		"notexample.com": false, "example.com.evil.net": false, "": false, "10.1.0.1": true, "10.1.2.3": false, "10.2.0.1": false, "::1": true, "::ffff:10.1.0.1": true,
		"169.254.169.254": false, "0x7f000001": false, "2130706433": false, "localhost": false, "fe80::1%lo": false,
	} {
		if err := f.host(host); (err == nil) != want {
			t.Errorf("%q: %v", host, err)
		}
	}
	f, _ = newFilter(act.Manifest{BlockedDomains: []string{"*.evil.net"}})
	for host, want := range map[string]bool{"example.com": true, "a.evil.net": false, "A.B.EVIL.NET": false, "1.2.3.4": false, "localhost": true} {
		if err := f.host(host); (err == nil) != want {
			t.Errorf("only blocked: %q: %v", host, err)
		}
	}
	for address, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1:248:1893:25c8:1946": true, "127.0.0.1": false, "10.0.0.1": false, "192.168.1.1": false, "172.16.0.1": false,
		"169.254.169.254": false, "100.100.100.200": false, "0.0.0.0": false, "::": false, "::1": false, "fd00:ec2::254": false, "fe80::1": false,
		"168.63.129.16": false, "::ffff:127.0.0.1": false, "64:ff9b::a9fe:a9fe": false, "2002:7f00:1::": false, "::7f00:1": false, "224.0.0.1": false, "255.255.255.255": false, "ff02::1": false,
	} {
		if err := f.address(netip.MustParseAddr(address)); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestThreat13ProxyRebinding answers the first lookup with a public address and the second
// with a private one, and a name with both.
func TestThreat13ProxyRebinding(t *testing.T) {
	f, _ := newFilter(act.Manifest{AllowedDomains: []string{"*.example.com"}})
	p := newProxy(f)
	lookups := 0
	p.resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
		lookups++
		return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::ffff:169.254.169.254")}, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	front := httptest.NewServer(p)
	defer front.Close()
	defer p.close()
	proxy, _ := url.Parse(front.URL)
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
	for _, u := range []string{"http://a.example.com:" + port, "https://a.example.com:" + port} {
		resp, err := client.Get(u)
		if err == nil && resp.StatusCode != http.StatusBadGateway {
			t.Errorf("%s: %v", u, resp.Status)
		} else if err != nil && !strings.Contains(err.Error(), "Bad Gateway") {
			t.Errorf("%s: %v", u, err)
		}
	}
	if lookups != 2 {
		t.Errorf("%d lookups for two requests", lookups)
	}
	if got, want := p.refused(), "; refused: a.example.com"; got != want { // and not what it resolves to
		t.Errorf("%q, want %q", got, want)
	}
}

// TestCgroupFiles looks at what is written for a cgroup, in an ordinary directory.
func TestCgroupFiles(t *testing.T) {
	for name, tree := range map[string]*cgroupTree{
		"v2": {v2: t.TempDir(), on: []string{"memory", "cpu", "pids", "kill"}},
		"v1": {v1: map[string]string{"memory": t.TempDir(), "cpu": t.TempDir(), "cpuacct": t.TempDir(), "pids": t.TempDir()}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := tree.make(100<<20, 25)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, dir := range c.made {
				files, _ := os.ReadDir(dir)
				for _, f := range files {
					os.Chmod(filepath.Join(dir, f.Name()), 0o600)
					b, _ := os.ReadFile(filepath.Join(dir, f.Name()))
					got[f.Name()] = string(b)
				}
			}
			want := map[string]string{"memory.max": "104857600", "memory.swap.max": "0", "memory.oom.group": "1", "cpu.max": "25000 100000", "pids.max": "1024"}
			files := map[string]string{"memory.peak": "5\n", "memory.events": "low 0\noom 3\noom_kill 2\n", "cpu.stat": "usage_usec 7\nuser_usec 1\n"}
			if name == "v1" {
				want = map[string]string{"memory.limit_in_bytes": "104857600", "memory.memsw.limit_in_bytes": "104857600", "cpu.cfs_quota_us": "25000", "pids.max": "1024"}
				files = map[string]string{"memory.max_usage_in_bytes": "5\n", "memory.oom_control": "under_oom 0\noom_kill 2\n", "cpuacct.usage": "7000\n"}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			for _, dir := range c.made {
				for f, content := range files {
					os.WriteFile(filepath.Join(dir, f), []byte(content), 0o600)
				}
			}
			if c.memoryPeak() != 5 || !c.outOfMemory() || c.cpu() != 7*time.Microsecond {
				t.Error(c.memoryPeak(), c.outOfMemory(), c.cpu())
			}
		})
	}
	mounts := "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n35 31 0:32 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
		"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	got := cgroupMounts(mounts)
	if got[""] != "/sys/fs/cgroup/unified" || got["cpu"] != "/sys/fs/cgroup/cpu,cpuacct" || got["cpuacct"] != got["cpu"] {
		t.Error(got)
	}
	if tree := cgroupsAmong("0::/none\n1:memory:/none\n", mounts, 1); tree.has("memory") {
		t.Error(tree)
	}
}

// TestForeignNumbers runs the filter's program on another processor's numbers.
func TestFilterProgram(t *testing.T) {
	p := seccompProgram(&order{Network: hostNetwork, NoMetadata: true, NoHidden: true, Unix: true})
	if p.Len < 100 || p.Len > 1000 || auditArch == 0 {
		t.Errorf("%d instructions for processor %x", p.Len, auditArch)
	}
	if runtime.GOARCH == "amd64" {
		// The old entry that every 64-bit kernel may have for 32-bit programs.
		m := modest
		dir := publicDir(t)
		source, program := filepath.Join(dir, "x.c"), filepath.Join(dir, "x")
		os.WriteFile(source, []byte(`void _start(void){long r; __asm__ volatile("int $0x80":"=a"(r):"a"(20)); __asm__ volatile("int $0x80"::"a"(1),"b"(0));}`), 0o644)
		if out, err := exec.Command("gcc", "-nostdlib", "-static", "-o", program, source).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		m.FilesystemScope, m.Advisory = []string{dir}, []string{"max_memory_mb", "max_cpu_percent"}
		o, err := Run(t.Context(), m, Command{Args: []string{program}})
		if err != nil || o.ExitCode == 0 || o.Signal != unix.SignalName(unix.SIGSYS) && o.Signal != unix.SignalName(unix.SIGSEGV) {
			t.Errorf("a 32-bit system call: %+v %v", o, err)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	b.Run("direct", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, v := range machines(b) {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			m := modest
			m.Advisory = v.advisory
			for b.Loop() {
				if o, err := v.run(b.Context(), m, Command{Args: []string{"/bin/true"}}); err != nil || o.ExitCode != 0 {
					b.Fatal(o, err)
				}
			}
		})
	}
}
