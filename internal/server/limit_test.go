package server

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/jsonrpc"

	"github.com/google/go-cmp/cmp"
)

// entered is what came of a call's wish to enter.
type entered struct {
	leave   func()
	refusal *jsonrpc.Refusal
}

// begin lets a call enter in a goroutine of its own.
func begin(ctx context.Context, l *limiter, name string, size int) <-chan entered {
	c := make(chan entered, 1)
	go func() {
		leave, refusal := l.enter(ctx, name, size)
		c <- entered{leave, refusal}
	}()
	return c
}

// leaveOne ends the turn of one call that has it, and returns the others.
func leaveOne(t *testing.T, calls []<-chan entered) []<-chan entered {
	t.Helper()
	synctest.Wait()
	for i, c := range calls {
		select {
		case e := <-c:
			if e.refusal != nil {
				t.Fatalf("refused: %+v", e.refusal)
			}
			e.leave()
			synctest.Wait()
			return slices.Delete(calls, i, i+1)
		default:
		}
	}
	t.Fatalf("none of %d calls has its turn", len(calls))
	return nil
}

// inWork is how much each caller has in work.
func inWork(l *limiter) map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := map[string]int{}
	sum := 0
	for name, c := range l.callers {
		sum += c.used
		if c.used > 0 {
			m[name] = c.used
		}
	}
	if sum != l.used {
		panic(fmt.Sprintf("the callers' work is %d, and in all %d", sum, l.used))
	}
	return m
}

func TestShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		l := newLimiter(100, 0)
		var hostile []<-chan entered
		for range 150 {
			hostile = append(hostile, begin(ctx, l, "hostile", 10))
		}
		synctest.Wait()
		if diff := cmp.Diff(map[string]int{"hostile": 100}, inWork(l)); diff != "" {
			t.Errorf("alone (-want +got):\n%s", diff)
		}
		if l.waitingCalls() != 50 {
			t.Errorf("%d calls wait, want 50", l.waitingCalls())
		}
		// Another comes. The next turn is its own, and from then on the first
		// gets no more than its share.
		other := begin(ctx, l, "other", 10)
		synctest.Wait()
		hostile = leaveOne(t, hostile)
		(<-other).leave()
		for work := 99; len(hostile) > 0; work = max(shared/2, work-1) {
			if got, want := inWork(l)["hostile"], min(work, len(hostile)); got != want {
				t.Fatalf("%d are in work, want %d; %d wait", got, want, l.waitingCalls())
			}
			hostile = leaveOne(t, hostile)
		}
		synctest.Wait()
		if diff := cmp.Diff(map[string]int{}, inWork(l)); diff != "" || l.waitingCalls() != 0 || len(l.queue) != 0 {
			t.Errorf("at the end %d wait (-want +got):\n%s", l.waitingCalls(), diff)
		}
	})
}

// TestKnown: a call of which only the body tells whose it is has its turn and its room of that
// caller's, whatever else asks from its address; beyond that caller's share it is refused.
func TestKnown(t *testing.T) {
	refused := make(chan *jsonrpc.Refusal, 1)
	working, goOn := make(chan struct{}), make(chan struct{})
	s := local(t, func(c *Config) {
		c.Rate = 3
		c.Routes = []Route{{Pattern: "POST /signed", MaxBody: 100, Signed: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			name, _ := io.ReadAll(r.Body)
			if refusal := Known(r.Context(), act.Principal{Name: string(name), Method: "key"}, len(name)); refusal != nil {
				refused <- refusal
				return
			}
			working <- struct{}{}
			<-goOn
		})}}
	})
	send := func(body, address string) {
		r := httptest.NewRequest("POST", "/signed", strings.NewReader(body))
		r.Host = "localhost:8080"
		s.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithValue(r.Context(), addressKey{}, address)))
	}
	var all sync.WaitGroup
	for i, name := range []string{"key:a", "key:a", "key:b"} {
		// The address is another each time, so that its own rate holds nobody.
		all.Go(func() {
			send(name, fmt.Sprint("first ", i))
		})
		<-working
	}
	if diff := cmp.Diff(map[string]int{"key:a": 2, "key:b": 1}, inWork(s.limits)); diff != "" {
		t.Errorf("in work (-want +got):\n%s", diff)
	}
	for name, c := range s.limits.callers {
		want := map[string]int64{"key:a": 10, "key:b": 5}[name]
		if c.bodies != want {
			t.Errorf("%s has %d bytes, want %d", name, c.bodies, want)
		}
	}
	// The caller's rate counts, by whatever address it comes.
	for i := range 6 {
		all.Go(func() {
			send("key:a", fmt.Sprint("then ", i))
		})
	}
	for done := false; !done; {
		select {
		case refusal := <-refused:
			done = refusal.Status == 429
		case <-working:
		}
	}
	go func() {
		for range working {
		}
	}()
	go func() {
		for range refused {
		}
	}()
	close(goOn)
	all.Wait()
	if diff := cmp.Diff(map[string]int{}, inWork(s.limits)); diff != "" || s.limits.bodies != 0 {
		t.Errorf("at the end, with %d bytes (-want +got):\n%s", s.limits.bodies, diff)
	}
}

// TestThreat25Strangers: who proves nothing uses up nothing of those who do, though they ask from
// one address; it is slowed itself, also where what it sends cannot be read.
func TestThreat25Strangers(t *testing.T) {
	s := local(t, func(c *Config) {
		c.Rate = 2
		c.Routes = []Route{{Pattern: "POST /signed", MaxBody: 100, Signed: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			name, _ := io.ReadAll(r.Body)
			switch refusal := (*jsonrpc.Refusal)(nil); {
			case string(name) == "unread":
			case string(name) == "stranger":
				Unknown(r.Context())
			default:
				if refusal = Known(r.Context(), act.Principal{Name: string(name), Method: "key"}, len(name)); refusal != nil {
					w.WriteHeader(refusal.Status)
				}
			}
		})}}
	})
	send := func(body string) (status int, took time.Duration) {
		r := httptest.NewRequest("POST", "/signed", strings.NewReader(body))
		r.Host = "localhost:8080"
		w, began := httptest.NewRecorder(), time.Now()
		s.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), addressKey{}, "one address")))
		return w.Code, time.Since(began)
	}
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() { send([]string{"stranger", "unread"}[i%2]) })
	}
	all.Wait()
	for _, body := range []string{"stranger", "unread"} {
		if _, took := send(body); took < pause {
			t.Errorf("beyond the rate of its address, %s is answered after %v", body, took)
		}
	}
	for _, name := range []string{"key:a", "key:b", "key:a"} { // each has its own rate
		if status, took := send(name); status != http.StatusOK || took >= pause {
			t.Errorf("%s: %d after %v", name, status, took)
		}
	}
	if diff := cmp.Diff(map[string]int{}, inWork(s.limits)); diff != "" || s.limits.bodies != 0 {
		t.Errorf("at the end, with %d bytes (-want +got):\n%s", s.limits.bodies, diff)
	}
}

func TestTurnsGoRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1, 0)
		first, _ := l.enter(t.Context(), "a", 0)
		var order []string
		var mu sync.Mutex
		for _, name := range []string{"a", "a", "b", "c"} {
			go func() {
				leave, refusal := l.enter(t.Context(), name, 0)
				if refusal != nil {
					t.Error(refusal)
					return
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				leave()
			}()
			synctest.Wait()
		}
		first()
		synctest.Wait()
		if diff := cmp.Diff([]string{"a", "b", "c", "a"}, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

func TestLargeCallsWeighMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1024, 0)
		for i := range 10 {
			leave, _ := l.enter(t.Context(), fmt.Sprint("agent-", i), 0)
			leave()
		}
		var all []<-chan entered
		for range 20 {
			all = append(all, begin(t.Context(), l, "hostile", 4<<20))
		}
		synctest.Wait()
		if diff := cmp.Diff(map[string]int{"hostile": maxWeight}, inWork(l)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for len(all) > 0 {
			all = leaveOne(t, all)
			if got := inWork(l)["hostile"]; len(all) > 0 && got != maxWeight {
				t.Fatalf("%d are in work", got)
			}
		}
		// Where less is possible at all, a large call is still possible.
		small := newLimiter(2, 0)
		leave, refusal := small.enter(t.Context(), "x", 4<<20)
		if refusal != nil {
			t.Fatal(refusal)
		}
		leave()
	})
}

// TestThreat25HeavyCalls: of callers that all send large calls, each has one in work at
// most, and a processor is left for small ones, which overtake them. Alone, a caller may
// use everything.
func TestThreat25HeavyCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1024, 0)
		l.allHeavy = 2
		var alone []<-chan entered
		for range 5 {
			alone = append(alone, begin(t.Context(), l, "alone", 1<<20))
		}
		synctest.Wait()
		if got := inWork(l)["alone"]; got != 5*maxWeight {
			t.Errorf("a caller alone has a weight of %d in work", got)
		}
		for len(alone) > 0 {
			alone = leaveOne(t, alone)
		}
		calls := map[string][]<-chan entered{}
		names := []string{"a", "b", "c", "d"}
		for _, name := range names { // so that several are active
			leave, _ := l.enter(t.Context(), name, 0)
			leave()
		}
		for range 10 {
			for _, name := range names {
				calls[name] = append(calls[name], begin(t.Context(), l, name, 3<<20))
			}
		}
		began := time.Now()
		for total := 40; total > 0; total-- {
			synctest.Wait()
			left := 0
			for _, name := range names {
				left += min(1, len(calls[name]))
			}
			if l.heavy != min(2, left) {
				t.Fatalf("%d heavy calls are in work, with %d to come", l.heavy, total)
			}
			work := inWork(l)
			for name, weight := range work {
				if weight > maxWeight {
					t.Fatalf("%s has a weight of %d in work", name, weight)
				}
			}
			// A small one of somebody else does not wait.
			leave, refusal := l.enter(t.Context(), "small", 100)
			if refusal != nil || time.Since(began) > 0 {
				t.Fatalf("a small call beside heavy ones: %+v after %s", refusal, time.Since(began))
			}
			leave()
			for _, name := range names {
				if work[name] > 0 {
					calls[name] = leaveOne(t, calls[name])
					break
				}
			}
		}
		if l.heavy != 0 || len(inWork(l)) != 0 {
			t.Errorf("at the end %d are heavy, and %v in work", l.heavy, inWork(l))
		}
	})
}

func TestWaitingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1, 0)
		leave, _ := l.enter(t.Context(), "a", 0)

		began := time.Now()
		if _, refusal := l.enter(t.Context(), "b", 0); refusal == nil || refusal.Status != 503 || time.Since(began) != longestWait {
			t.Errorf("after %s: %+v", time.Since(began), refusal)
		}
		ctx, cancel := context.WithCancel(t.Context())
		gone := begin(ctx, l, "c", 0)
		synctest.Wait()
		cancel()
		if e := <-gone; e.refusal == nil {
			t.Error("a caller that has gone has a turn")
		}
		if l.waitingCalls() != 0 || len(l.queue) != 0 {
			t.Errorf("%d calls of %d callers still wait", l.waitingCalls(), len(l.queue))
		}
		// One caller alone cannot fill the queue for the others.
		var mine []<-chan entered
		l.total = 1000
		l.used = 1000
		for range maxQueue {
			mine = append(mine, begin(t.Context(), l, "greedy", 0))
		}
		synctest.Wait()
		began = time.Now()
		if _, refusal := l.enter(t.Context(), "greedy", 0); refusal == nil || refusal.Status != 429 || time.Since(began) != pause {
			t.Errorf("beyond its queue, after %s: %+v", time.Since(began), refusal)
		}
		other := begin(t.Context(), l, "other", 0)
		synctest.Wait()
		l.used = 1
		leave()
		synctest.Wait()
		(<-other).leave()
		for len(mine) > 0 {
			mine = leaveOne(t, mine)
		}
		if len(inWork(l)) != 0 {
			t.Errorf("still in work: %v", inWork(l))
		}
	})
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(100, 10)
		began := time.Now()
		for range 15 { // ten at once, five as they come due
			leave, refusal := l.enter(t.Context(), "a", 0)
			if refusal != nil {
				t.Fatalf("after %s: %+v", time.Since(began), refusal)
			}
			leave()
		}
		if took := time.Since(began).Round(time.Millisecond); took != 500*time.Millisecond {
			t.Errorf("15 calls at 10 a second took %s, want 500ms", took)
		}
		var all []<-chan entered
		for range 30 {
			all = append(all, begin(t.Context(), l, "a", 0))
		}
		leave, refusal := l.enter(t.Context(), "b", 0)
		if refusal != nil || time.Since(began).Round(time.Millisecond) != 500*time.Millisecond {
			t.Errorf("another caller waits: %+v", refusal)
		}
		leave()
		served, refused := 0, 0
		for _, c := range all {
			if e := <-c; e.refusal == nil {
				e.leave()
				served++
			} else if e.refusal.Status == 429 && e.refusal.RetryAfter == 2 {
				refused++
			}
		}
		if served != 10 || refused != 20 {
			t.Errorf("%d served and %d refused, want 10 and 20", served, refused)
		}
	})
}

func TestCallersAreBounded(t *testing.T) {
	l := newLimiter(10, 1)
	busyOne, _ := l.enter(t.Context(), "busy", 0)
	for i := range 3 * maxCallers {
		leave, refusal := l.enter(t.Context(), fmt.Sprint(i), 0)
		if refusal != nil {
			t.Fatal(refusal)
		}
		leave()
	}
	if n := len(l.callers); n != maxCallers {
		t.Errorf("%d callers are remembered, want %d", n, maxCallers)
	}
	if l.callers["busy"] == nil {
		t.Error("a caller at work was forgotten")
	}
	busyOne()
	n := 0
	for c := l.newest; c != nil; c = c.older {
		n++
	}
	if n != maxCallers {
		t.Errorf("the list has %d callers", n)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(10, 0)
		var held []func()
		take := func(name string) int {
			release, refusal := l.reserve(t.Context(), name, 4<<20)
			if refusal != nil {
				return refusal.Status
			}
			held = append(held, release)
			return 200
		}
		got := map[string]map[int]int{}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			got[name] = map[int]int{}
			for range 17 {
				got[name][take(name)]++
			}
		}
		full := map[int]int{200: 16, 429: 1}
		want := map[string]map[int]int{"a": full, "b": full, "c": full, "d": {200: 8, 503: 9}, "e": {200: 4, 503: 13}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		// What is left is for the small ones of others.
		if release, refusal := l.reserve(t.Context(), "f", 64<<10); refusal != nil {
			t.Errorf("beside five greedy callers a small body is refused: %+v", refusal)
		} else {
			release()
		}
		for _, release := range held {
			release()
		}
		if l.bodies != 0 || take("a") != 200 {
			t.Errorf("%d bytes are still taken", l.bodies)
		}
	})
}

// TestThreat10HalfReadBodies sends many small bodies of which only the beginning comes, as
// the streams of a few HTTP/2 connections can: they count, too.
func TestThreat10HalfReadBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := local(t, nil)
		const size, streams = 64 << 10, callerBodies/(64<<10) + 10
		var wg sync.WaitGroup
		var mu sync.Mutex
		answers := map[int]int{}
		var ends []*io.PipeWriter
		for range streams {
			body, end := io.Pipe()
			ends = append(ends, end)
			r := httptest.NewRequest("POST", "/", body)
			r.Host, r.ContentLength = "localhost", size
			r.Header.Set("Content-Type", "application/json")
			wg.Go(func() {
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				mu.Lock()
				answers[w.Code]++
				mu.Unlock()
			})
		}
		synctest.Wait()
		time.Sleep(2 * pause)
		s.limits.mu.Lock()
		held := s.limits.bodies
		s.limits.mu.Unlock()
		if held != callerBodies {
			t.Errorf("%d bytes are reserved for %d bodies that have come by half, want %d", held, streams, callerBodies)
		}
		for _, end := range ends {
			end.CloseWithError(io.ErrUnexpectedEOF)
		}
		wg.Wait()
		if diff := cmp.Diff(map[int]int{200: streams - 10, 429: 10}, answers); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		if s.limits.bodies != 0 {
			t.Errorf("%d bytes are still reserved", s.limits.bodies)
		}
	})
}

// TestThreat25Fairness is T25: one agent that asks without end over many connections,
// with large requests among the small ones, beside nine that ask now and then.
// The nine must hardly notice.
func TestThreat25Fairness(t *testing.T) {
	var keys []identity.Key
	var credentials []string
	for i := range 10 {
		key, credential := newKey(t, fmt.Sprint("agent-", i), identity.Agent)
		keys, credentials = append(keys, key), append(credentials, credential)
	}
	commits := newCommitter(time.Millisecond)
	t.Cleanup(func() { close(commits.stop) }) // after the server has stopped
	rpc := &jsonrpc.Handler{Namespaces: []jsonrpc.Namespace{{
		Match: func(string) bool { return true },
		Handle: func(_ context.Context, r *jsonrpc.Request) ([]byte, *jsonrpc.Error) {
			judge(len(r.Body))
			commits.wait()
			return []byte(`"allow"`), nil
		},
	}}}
	s := local(t, func(c *Config) {
		c.RPC, c.Auth = map[string]*jsonrpc.Handler{"/": rpc}, newAuth(t, true, keys...)
	})
	url, _ := run(t, s)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}}
	defer client.CloseIdleConnections() // or the server waits for them
	call := func(ctx context.Context, agent int, body string) error {
		r, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(body))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", credentials[agent])
		resp, err := client.Do(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		if resp.StatusCode != 200 {
			return fmt.Errorf("agent %d: %s", agent, resp.Status)
		}
		return err
	}
	small := `{"jsonrpc":"2.0","id":1,"method":"step","params":{"text":"` + strings.Repeat("ordinary words ", 200) + `"}}`
	large := `{"jsonrpc":"2.0","id":1,"method":"step","params":{"text":"` + strings.Repeat("ordinary words ", 60_000) + `"}}`

	// p99 of the nine agents' latencies.
	p99 := func(samples int) time.Duration {
		var mu sync.Mutex
		var latencies []time.Duration
		var wg sync.WaitGroup
		for agent := range 9 {
			wg.Go(func() {
				for range samples {
					began := time.Now()
					if err := call(t.Context(), agent, small); err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					latencies = append(latencies, time.Since(began))
					mu.Unlock()
					time.Sleep(2 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		slices.Sort(latencies)
		return latencies[len(latencies)*99/100]
	}

	p99(20) // connections, caches
	best, quietP99, besideP99 := math.Inf(1), time.Duration(0), time.Duration(0)
	for range 3 { // the best of three: other programs use the machine, too
		alone := p99(100)
		ctx, cancel := context.WithCancel(t.Context())
		var hostile sync.WaitGroup
		for i := range 100 {
			hostile.Go(func() {
				body := small
				if i%10 == 0 {
					body = large
				}
				for ctx.Err() == nil {
					call(ctx, 9, body)
				}
			})
		}
		time.Sleep(100 * time.Millisecond)
		beside := p99(100)
		cancel()
		hostile.Wait()
		if ratio := float64(beside) / float64(alone); ratio < best {
			best, quietP99, besideP99 = ratio, alone, beside
		}
		if best <= 2 {
			break
		}
	}
	t.Logf("p99 of nine agents: %s without and %s beside a hostile one, %.1f times", quietP99, besideP99, best)
	// The aim is 2, and 1.4 to 1.8 was seen on a quiet machine; the client's own
	// work and whatever else runs are in these figures, too. Without shares it is 26.
	if best > 12 {
		t.Errorf("one hostile agent makes the others' p99 %.1f times as long: %s, and %s without it", best, besideP99, quietP99)
	}
}

// judge takes about as long as judging a body of the size does.
func judge(size int) {
	took := 60*time.Microsecond + time.Duration(size)*5*time.Nanosecond
	for end := time.Now().Add(took); time.Now().Before(end); {
	}
}

// committer makes everything that waits durable at once, in a fixed time.
type committer struct {
	queue chan chan struct{}
	stop  chan struct{}
}

func newCommitter(took time.Duration) *committer {
	c := &committer{make(chan chan struct{}, 1024), make(chan struct{})}
	go func() {
		for {
			var batch []chan struct{}
			select {
			case done := <-c.queue:
				batch = append(batch, done)
			case <-c.stop:
				return
			}
			for len(c.queue) > 0 {
				batch = append(batch, <-c.queue)
			}
			time.Sleep(took)
			for _, done := range batch {
				close(done)
			}
		}
	}()
	return c
}

func (c *committer) wait() {
	done := make(chan struct{})
	c.queue <- done
	<-done
}

// TestThreat25HalfReadBodiesGiveWay: bodies that come by half, from an address that others
// have too, fill its room and keep none of those out whose body comes whole, though each of
// them asks by a connection of its own.
func TestThreat25HalfReadBodiesGiveWay(t *testing.T) {
	s := local(t, func(c *Config) {
		c.Routes = []Route{{Pattern: "POST /signed", MaxBody: 4 << 20, Signed: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			name, _ := io.ReadAll(r.Body)
			if refusal := Known(r.Context(), act.Principal{Name: string(name), Method: "key"}, len(name)); refusal != nil {
				w.WriteHeader(refusal.Status)
			}
		})}}
	})
	url, _ := run(t, s)
	address := strings.TrimPrefix(url, "http://")
	half := func(announced int) net.Conn {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprintf(c, "POST /signed HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\nhalf", address, announced)
		return c
	}
	held := func() int64 { s.limits.mu.Lock(); defer s.limits.mu.Unlock(); return s.limits.bodies }
	var bodies []net.Conn
	for range callerBodies / (4 << 20) {
		bodies = append(bodies, half(4<<20))
	}
	for end := time.Now().Add(10 * time.Second); held() < callerBodies; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("only %d bytes are held", held())
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for i := range 30 {
		began := time.Now()
		resp, err := client.Post(url+"/signed", "application/json", strings.NewReader(fmt.Sprint("key:", i%3)))
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != http.StatusOK {
			t.Errorf("request %d: %s after %v", i, resp.Status, time.Since(began))
		}
		half(4 << 20) // which takes what gave way
	}
	// Who gave way is told, and its connection ends.
	text, err := io.ReadAll(bodies[0])
	if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 408 ") {
		t.Errorf("%v: %.100s", err, text)
	}
	for _, c := range bodies {
		c.Close()
	}
	if held() > callerBodies {
		t.Errorf("%d bytes are held", held())
	}
}

// TestRoomForBodies: what has not come whole gives way to what is smaller, and to all once it
// has taken long; what has come keeps its room.
func TestRoomForBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1, 0)
		ended := map[string]bool{}
		receive := func(name string, size int64) (whole, release func(), ok bool) {
			whole, release, refusal := l.receive(t.Context(), "a", size, func() { ended[name] = true })
			return whole, release, refusal == nil
		}
		came, drop, _ := receive("came", callerBodies/2)
		came()
		_, half, _ := receive("half", callerBodies/2)
		if _, _, ok := receive("as large", callerBodies/2); ok || len(ended) > 0 {
			t.Errorf("a body gives way to one of its size at once: %v", ended)
		}
		whole, small, ok := receive("small", 10)
		if !ok || !ended["half"] || len(ended) != 1 {
			t.Errorf("%t, %v", ok, ended)
		}
		time.Sleep(2 * comesWithin)
		if _, _, ok := receive("large", callerBodies/2); !ok || !ended["small"] || ended["came"] {
			t.Errorf("%t, %v", ok, ended)
		}
		whole()
		for _, release := range []func(){small, half, drop} {
			release()
		}
		if l.bodies != callerBodies/2 {
			t.Errorf("%d bytes are held", l.bodies)
		}
	})
}
