package engine

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"reeve.example/reeve/task"
)

// Memory is the dispatcher of a node that has its tasks to itself: a queue for each
// executor, most urgent first, made from the stored rows at the start and kept up
// by each commit. It never polls.
type Memory struct {
	// Ready returns the most urgent rows of an executor that are ready.
	Ready func(ctx context.Context, executor string, limit int) ([]task.Row, error)
	// Length is how many ready tasks of an executor are held in memory; 0 means 4096.
	Length int

	mu     sync.Mutex
	wake   sync.Cond
	queues map[string]*queue // by executor; nil until Run
	over   bool
}

// queue holds what is ready for one executor. What does not fit stays in the rows,
// and is read from there when the queue has run low.
type queue struct {
	heap  handedHeap
	here  map[task.ID]*queued // in the heap
	out   map[task.ID]*queued // handed out and not back; nil for nothing that follows
	free  int                 // how many more may run
	short bool                // rows are ready that are not here
}

// queued is one ready task.
type queued struct {
	task.Handed
	priority uint8
	created  time.Time
}

type handedHeap []*queued

func (h handedHeap) Len() int { return len(h) }
func (h handedHeap) Less(i, j int) bool {
	if h[i].priority != h[j].priority {
		return h[i].priority < h[j].priority
	}
	return h[i].created.Before(h[j].created)
}
func (h handedHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *handedHeap) Push(x any)   { *h = append(*h, x.(*queued)) }
func (h *handedHeap) Pop() any {
	last := len(*h) - 1
	q := (*h)[last]
	*h = (*h)[:last]
	return q
}

// Run hands out what is ready, until ctx ends.
func (m *Memory) Run(ctx context.Context, work task.Work) error {
	m.mu.Lock()
	if m.Length <= 0 {
		m.Length = 4096
	}
	m.wake.L = &m.mu
	m.queues = make(map[string]*queue, len(work.Limits))
	for executor, limit := range work.Limits {
		m.queues[executor] = &queue{here: map[task.ID]*queued{}, out: map[task.ID]*queued{}, free: limit, short: true}
	}
	m.mu.Unlock()
	stop := context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.over = true
		m.wake.Broadcast()
	})
	defer stop()
	var serving, started sync.WaitGroup
	for executor := range m.queues {
		serving.Go(func() { m.serve(ctx, executor, work, &started) })
	}
	serving.Wait()
	started.Wait()
	return nil
}

// serve hands out the tasks of one executor.
func (m *Memory) serve(ctx context.Context, executor string, work task.Work, started *sync.WaitGroup) {
	q := m.queues[executor]
	for {
		m.mu.Lock()
		for !m.over && (q.free == 0 || len(q.heap) == 0 && !q.short) {
			m.wake.Wait()
		}
		if m.over {
			m.mu.Unlock()
			return
		}
		if q.short && len(q.heap) <= m.Length/2 {
			q.short = false
			m.mu.Unlock()
			if !m.refill(ctx, executor, q) {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
			}
			continue
		}
		next := heap.Pop(&q.heap).(*queued)
		delete(q.here, next.Task)
		q.out[next.Task] = nil
		q.free--
		m.mu.Unlock()
		started.Go(func() {
			work.Start(ctx, next.Handed)
			m.mu.Lock()
			defer m.mu.Unlock()
			q.free++
			after := q.out[next.Task]
			delete(q.out, next.Task)
			if after != nil && after.Handed != next.Handed { // it became ready again meanwhile
				m.put(q, after)
			}
			m.wake.Broadcast()
		})
	}
}

// refill reads ready rows into a queue.
func (m *Memory) refill(ctx context.Context, executor string, q *queue) bool {
	m.mu.Lock()
	limit := m.Length + len(q.here) + len(q.out)
	m.mu.Unlock()
	rows, err := m.Ready(ctx, executor, limit)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		q.short = true
		return false
	}
	for i := range rows {
		m.add(q, &rows[i])
	}
	q.short = q.short || len(rows) == limit
	return true
}

// add puts a ready row into a queue. mu is held.
func (m *Memory) add(q *queue, r *task.Row) {
	m.put(q, &queued{
		Handed:   task.Handed{Task: r.ID, Root: r.Root, Attempt: r.Attempt + 1, Run: r.Run},
		priority: r.Priority, created: r.Created,
	})
}

// put queues a task. One that is in the queue already is brought up to date, and
// one that is handed out comes when it is back. mu is held.
func (m *Memory) put(q *queue, t *queued) {
	if had := q.here[t.Task]; had != nil {
		had.Handed = t.Handed
		return
	}
	if _, out := q.out[t.Task]; out {
		q.out[t.Task] = t
		return
	}
	if len(q.heap) >= m.Length {
		q.short = true
		return
	}
	q.here[t.Task] = t
	heap.Push(&q.heap, t)
}

// Changed queues what has become ready.
func (m *Memory) Changed(w *task.Writes) {
	if len(w.Ready) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.queues == nil {
		return // Run reads the rows
	}
	for _, r := range w.Ready {
		if q := m.queues[r.Executor]; q != nil {
			m.add(q, r)
		}
	}
	m.wake.Broadcast()
}
