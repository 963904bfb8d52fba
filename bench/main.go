// Command bench compares a reeve node with yardsticks measured in the same
// run: a bare net/http server that echoes the same body, and, with -opa, an
// Open Policy Agent server with decision logs on. Every server is a process of
// its own, so that its CPU time can be told from that of the load. Rounds of
// the servers alternate and medians are printed: on a shared machine only the
// ratios mean something.
//
//	go run ./bench              # all: throughput, CPU, latency
//	go run ./bench -opa         # with Open Policy Agent beside it
//	go run ./bench -a2a         # as an A2A agent, beside the sample server of its SDK
package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// unbounded lifts the quotas of a principal: the load has one, and ends nothing that it begins.
var unbounded = []string{
	"--quotas-tasks", "0", "--quotas-task-bytes", "0", "--quotas-intents", "0", "--quotas-bytes", "0", "--quotas-contents", "0", "--quotas-agents", "0",
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	echo := flag.String("echo", "", "only serve as the yardstick at this address")
	sampleAt := flag.String("sample", "", "only serve as the yardstick for A2A at this address")
	agent := flag.Bool("a2a", false, "measure A2A instead")
	opa := flag.Bool("opa", false, "measure Open Policy Agent too (built with go install)")
	rounds := flag.Int("rounds", 3, "rounds for each measurement")
	each := flag.Duration("each", 3*time.Second, "length of one round")
	conns := flag.String("conns", "1,8,64,256", "numbers of connections")
	latency := flag.Bool("latency", true, "measure latency at half of saturation")
	only := flag.String("only", "", "measure only the set-ups whose name contains this")
	flag.Parse()
	if *echo != "" {
		serveEcho(*echo)
		return
	}
	if *sampleAt != "" {
		serveSample(*sampleAt)
		return
	}
	if *agent {
		if err := runA2A(*rounds, *each, parseInts(*conns)); err != nil {
			log.Fatal(err)
		}
		return
	}
	if err := run(*opa, *rounds, *each, parseInts(*conns), *latency, *only); err != nil {
		log.Fatal(err)
	}
}

// serveEcho is the yardstick: the least that an HTTP server can do with a body.
func serveEcho(addr string) {
	log.Fatal(http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
	})))
}

// server is one process under load.
type server struct {
	name    string
	addr    string
	path    string
	body    *template
	process *exec.Cmd
	socket  bool // by WebSocket
}

// programs are this one, which is the yardsticks and the clients, and a node, which is
// built into a folder.
func programs(dir string) (self, reeve string, err error) {
	reeve = filepath.Join(dir, "reeve")
	if out, err := exec.Command("go", "build", "-o", reeve, "reeve.example/reeve/cmd/reeve").CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("build reeve: %w\n%s", err, out)
	}
	self, err = os.Executable()
	return self, reeve, err
}

func run(opa bool, rounds int, each time.Duration, conns []int, latency bool, only string) error {
	dir, err := os.MkdirTemp("", "reeve-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	self, reeve, err := programs(dir)
	if err != nil {
		return err
	}

	plain := filepath.Join(dir, "plain.yaml")
	if err := os.WriteFile(plain, hundredRules(), 0o600); err != nil {
		return err
	}
	node := func(name string, args ...string) (*server, error) {
		addr := freeAddr()
		args = append(slices.Concat([]string{"serve", "--listen", addr, "--data", filepath.Join(dir, name)}, unbounded), args...)
		return start(name, addr, "/", stepBody(), reeve, args...)
	}
	var servers []*server
	defer func() {
		for _, s := range servers {
			s.process.Process.Signal(os.Interrupt)
			s.process.Wait()
		}
	}()
	add := func(s *server, err error) error {
		if err == nil {
			servers = append(servers, s)
		}
		return err
	}
	addr := freeAddr()
	if err := add(start("echo", addr, "/", stepBody(), self, "-echo", addr)); err != nil {
		return err
	}
	if strings.Contains("rules", only) {
		if err := add(node("rules", "--policy", plain, "--keep", "none")); err != nil {
			return err
		}
	}
	if strings.Contains("starter", only) {
		if err := add(node("starter")); err != nil {
			return err
		}
	}
	for _, name := range []string{"a2g", "a2g-ws"} {
		if !strings.Contains(name, only) {
			continue
		}
		s, err := node(name)
		if err := add(s, err); err != nil {
			return err
		}
		s.path, s.body, s.socket = "/a2g", intentBody(), name == "a2g-ws"
	}
	for name, body := range map[string]*template{"create": createBody(), "get": getBody()} {
		if !strings.Contains(name, only) {
			continue
		}
		s, err := node(name)
		if err := add(s, err); err != nil {
			return err
		}
		s.path, s.body = "/flow", body
		if err := post("http://"+s.addr+"/flow", taskBody); err != nil { // which get asks for
			return err
		}
	}
	if opa {
		if err := add(startOPA(dir)); err != nil {
			return err
		}
	}

	fmt.Printf("body %d bytes, every request a new step in a new session (create and get: tasks); median of %d rounds of %s\n\n", len(stepBody().bytes), rounds, each)
	fmt.Printf("%-9s %6s %12s %12s %10s %10s\n", "server", "conns", "requests/s", "CPU µs/req", "÷ echo", "CPU ÷ echo")
	saturation := map[string]float64{}
	for _, n := range conns {
		rates := make([][]float64, len(servers))
		cpus := make([][]float64, len(servers))
		for range rounds {
			for i, s := range servers {
				rate, cpu, err := closedLoop(s, n, each)
				if err != nil {
					return fmt.Errorf("%s at %d connections: %w", s.name, n, err)
				}
				rates[i], cpus[i] = append(rates[i], rate), append(cpus[i], cpu)
			}
		}
		for i, s := range servers {
			rate, cpu := median(rates[i]), median(cpus[i])
			saturation[s.name] = max(saturation[s.name], rate)
			fmt.Printf("%-9s %6d %12.0f %12.1f %10.2f %10.2f\n", s.name, n, rate, cpu, rate/median(rates[0]), cpu/median(cpus[0]))
		}
		fmt.Println()
	}
	if latency {
		fmt.Printf("latency, open loop at half of each server's saturation\n%-9s %12s %9s %9s %9s\n", "server", "requests/s", "p50 ms", "p90 ms", "p99 ms")
		for _, s := range servers {
			rate := saturation[s.name] / 2
			all, err := openLoop(s, rate, 2*each)
			if err != nil {
				return err
			}
			at := func(q float64) float64 { return all[int(q*float64(len(all)-1))].Seconds() * 1e3 }
			fmt.Printf("%-9s %12.0f %9.3f %9.3f %9.3f\n", s.name, rate, at(0.5), at(0.9), at(0.99))
		}
		commit, err := commitTime(dir)
		if err != nil {
			return err
		}
		fmt.Printf("one commit of this disk (write 24 KB, fsync), p50: %.3f ms\n\n", commit.Seconds()*1e3)
	}
	for _, s := range servers {
		fmt.Printf("%-9s resident memory %3d MB at the end\n", s.name, residentMB(s.process.Process.Pid))
	}
	return nil
}

// post makes one request.
func post(url, body string) error {
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil && bytes.Contains(answer, []byte(`"error":{`)) {
		err = fmt.Errorf("%s: %s", url, answer)
	}
	return err
}

// start runs a server and waits until it accepts connections.
func start(name, addr, path string, body *template, program string, args ...string) (*server, error) {
	cmd := exec.Command(program, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Discard, &limited{w: &out}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			return &server{name: name, addr: addr, path: path, body: body, process: cmd}, nil
		}
		select {
		case <-ctx.Done():
			cmd.Process.Kill()
			return nil, fmt.Errorf("%s did not start: %s", name, out.Bytes())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// limited keeps the first bytes that a server says, for the error message.
type limited struct{ w *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.w.Len() < 4096 {
		l.w.Write(p)
	}
	return len(p), nil
}

func freeAddr() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// commitTime is the median time of making a batch's bytes durable.
func commitTime(dir string) (time.Duration, error) {
	f, err := os.Create(filepath.Join(dir, "commit"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	block := make([]byte, 24<<10)
	var all []time.Duration
	for range 200 {
		begin := time.Now()
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		all = append(all, time.Since(begin))
	}
	return median(all), nil
}

func median[T cmp.Ordered](all []T) T {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
