package engine

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"

	"reeve.example/reeve/task"
)

// Memory is the dispatcher of a node that has its tasks to itself: a queue for each
// executor, most urgent first, made from the stored rows at the start and kept up
// by each commit. It never polls.
//
// What is handed out next is the most urgent of everything that is ready and whose
// executor has room, and it is chosen when there is room for it: what would wait for
// room with others could be overtaken by them.
type Memory struct {
	// Ready returns the most urgent rows of an executor that are ready, the most
	// urgent first, then the oldest, then by id.
	Ready func(ctx context.Context, executor string, limit int) ([]task.Row, error)
	// Length is how many ready tasks of an executor are read into memory at once, and
	// half of how many are held there; 0 means 4096.
	Length int

	mu     sync.Mutex
	wake   sync.Cond
	queues map[string]*queue // by executor; nil until Run
	room   int               // how many more tasks may run, of all executors
	over   bool
}

// queue holds what is ready for one executor. What does not fit stays in the rows,
// and is read from there when its turn has come.
type queue struct {
	heap heapOfReady
	here map[task.ID]*ready // in the heap
	out  map[task.ID]*ready // handed out and not back; nil for nothing that follows
	free int                // how many more may run
	// short says that rows are ready which are not here. left is the most urgent that
	// these can be; nil while nobody knows.
	short bool
	left  *ready
	later time.Time // the rows could not be read: not before
}

// ready is one ready task.
type ready struct {
	task.Handed
	created time.Time
	at      int // in the heap
}

// before orders ready tasks as Ready returns them.
func (r *ready) before(o *ready) bool {
	return cmp.Or(cmp.Compare(r.Priority, o.Priority), r.created.Compare(o.created), bytes.Compare(r.Task[:], o.Task[:])) < 0
}

type heapOfReady []*ready

func (h heapOfReady) Len() int           { return len(h) }
func (h heapOfReady) Less(i, j int) bool { return h[i].before(h[j]) }
func (h heapOfReady) Swap(i, j int)      { h[i], h[j] = h[j], h[i]; h[i].at, h[j].at = i, j }
func (h *heapOfReady) Push(x any) {
	r := x.(*ready)
	r.at = len(*h)
	*h = append(*h, r)
}
func (h *heapOfReady) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	*h = (*h)[:last]
	return r
}

// Run hands out what is ready, until ctx ends.
func (m *Memory) Run(ctx context.Context, work task.Work) error {
	m.mu.Lock()
	if m.Length <= 0 {
		m.Length = 4096
	}
	m.wake.L = &m.mu
	m.room = work.Room
	m.queues = make(map[string]*queue, len(work.Limits))
	for executor, limit := range work.Limits {
		m.queues[executor] = &queue{here: map[task.ID]*ready{}, out: map[task.ID]*ready{}, free: limit, short: true}
		if work.Room <= 0 {
			m.room += limit
		}
	}
	m.mu.Unlock()
	stop := context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.over = true
		m.wake.Broadcast()
	})
	defer stop()
	var started sync.WaitGroup
	defer started.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	for !m.over {
		if m.room == 0 {
			m.wake.Wait()
			continue
		}
		if executor, q := m.unread(time.Now()); q != nil {
			m.refill(ctx, executor, q)
			continue
		}
		q := m.next()
		if q == nil {
			m.wake.Wait()
			continue
		}
		m.handOut(ctx, q, work, &started)
	}
	return nil
}

// unread is a queue with room of which the rows may hold something more urgent than
// it does itself; nil for none. mu is held.
func (m *Memory) unread(now time.Time) (string, *queue) {
	for executor, q := range m.queues {
		if q.short && q.free > 0 && !now.Before(q.later) && (len(q.heap) == 0 || q.left == nil || q.left.before(q.heap[0])) {
			return executor, q
		}
	}
	return "", nil
}

// next is the queue with the most urgent task of those that have room; nil when
// nothing is ready. mu is held.
func (m *Memory) next() (most *queue) {
	for _, q := range m.queues {
		if q.free > 0 && len(q.heap) > 0 && (most == nil || q.heap[0].before(most.heap[0])) {
			most = q
		}
	}
	return most
}

// handOut starts the most urgent task of a queue. mu is held.
func (m *Memory) handOut(ctx context.Context, q *queue, work task.Work, started *sync.WaitGroup) {
	next := heap.Pop(&q.heap).(*ready)
	delete(q.here, next.Task)
	q.out[next.Task] = nil
	q.free--
	m.room--
	start := work.Start(ctx, next.Handed)
	started.Go(func() {
		start()
		m.mu.Lock()
		defer m.mu.Unlock()
		q.free++
		m.room++
		after := q.out[next.Task]
		delete(q.out, next.Task)
		if after != nil && after.Handed != next.Handed { // it became ready again meanwhile
			m.put(q, after)
		}
		m.wake.Broadcast()
	})
}

// readAgain is when rows are read again that could not be.
const readAgain = time.Second

// refill reads ready rows into a queue. mu is held, and not while it reads.
func (m *Memory) refill(ctx context.Context, executor string, q *queue) {
	limit := m.Length + len(q.here) + len(q.out)
	q.short, q.left = false, nil // what becomes ready from here on is put into the queue
	m.mu.Unlock()
	rows, err := m.Ready(ctx, executor, limit)
	m.mu.Lock()
	if err != nil {
		q.short, q.left, q.later = true, nil, time.Now().Add(readAgain)
		time.AfterFunc(readAgain, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.wake.Broadcast()
		})
		return
	}
	for i := range rows {
		m.add(q, &rows[i])
	}
	if len(rows) == limit {
		q.leave(readyRow(&rows[limit-1]))
	}
}

// leave notes that there are rows which the queue does not hold: none of them is
// before least. mu is held.
func (q *queue) leave(least *ready) {
	if !q.short || q.left != nil && least.before(q.left) {
		q.left = least
	}
	q.short = true
}

func readyRow(r *task.Row) *ready {
	return &ready{
		Handed:  task.Handed{Task: r.ID, Root: r.Root, Attempt: r.Attempt + 1, Run: r.Run, Priority: r.Priority},
		created: r.Created,
	}
}

// add puts a ready row into a queue. mu is held.
func (m *Memory) add(q *queue, r *task.Row) { m.put(q, readyRow(r)) }

// put queues a task. One that is in the queue already is brought up to date, and
// one that is handed out comes when it is back. mu is held.
func (m *Memory) put(q *queue, t *ready) {
	if had := q.here[t.Task]; had != nil {
		had.Handed = t.Handed
		heap.Fix(&q.heap, had.at)
		return
	}
	if _, out := q.out[t.Task]; out {
		q.out[t.Task] = t
		return
	}
	if q.short && q.left != nil && !t.before(q.left) {
		return // it is found among the rows when its turn comes
	}
	q.here[t.Task] = t
	heap.Push(&q.heap, t)
	if len(q.heap) <= 2*m.Length {
		return
	}
	// Sorted, it is a heap still, and its end the least urgent half.
	slices.SortFunc(q.heap, func(a, b *ready) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	for _, over := range q.heap[m.Length:] {
		delete(q.here, over.Task)
	}
	q.leave(q.heap[m.Length])
	clear(q.heap[m.Length:])
	q.heap = q.heap[:m.Length]
	for i, r := range q.heap {
		r.at = i
	}
}

// Changed queues what has become ready.
func (m *Memory) Changed(w *task.Writes) { m.Missed(w.Ready) }

// Missed queues ready tasks that nobody began.
func (m *Memory) Missed(rows []*task.Row) {
	if len(rows) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.queues == nil {
		return // Run reads the rows
	}
	for _, r := range rows {
		if q := m.queues[r.Executor]; q != nil {
			m.add(q, r)
		}
	}
	m.wake.Broadcast()
}
