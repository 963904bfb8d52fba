package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"reeve.example/reeve/internal/deliver"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/task"
)

// Pusher tells others of the changes of trees, by HTTP POST.
type Pusher struct {
	// Client makes the calls; nil for none. It must refuse addresses that callers
	// may not reach: see package outbound.
	Client *http.Client
	// Secret signs each call: see deliver.Sign. Empty for no signature.
	Secret []byte

	woken deliver.Wake
}

// NewPusher returns a Pusher.
func NewPusher(client *http.Client, secret []byte) Pusher {
	return Pusher{Client: client, Secret: secret, woken: deliver.NewWake()}
}

// Bounds of pushes.
const (
	pushLease  = 30 * time.Second // longer than a call may take
	pushAtOnce = 256
	pushIdle   = 2 * time.Second // how often a tree is looked at that waits for its schedule
)

// pushAll tells what is to be told, until ctx ends.
func (e *Engine) pushAll(ctx context.Context) {
	if e.cfg.Push.Client == nil {
		return
	}
	var deliveries sync.WaitGroup
	defer deliveries.Wait()
	room := make(chan struct{}, pushAtOnce)
	e.cfg.Push.woken.Loop(ctx, func(int) {
		now := e.cfg.Now()
		if free := cap(room) - len(room); free > 0 {
			list, err := e.cfg.Store.TakePush(ctx, now, now.Add(pushLease), free)
			if err != nil && ctx.Err() == nil {
				e.cfg.Logger.Error("push notifications cannot be read", "error", err)
			}
			for i := range list {
				room <- struct{}{}
				deliveries.Go(func() {
					defer func() { <-room; e.cfg.Push.woken.Up() }()
					e.push(ctx, &list[i])
				})
			}
		}
	})
}

// push tells one receiver, in order, everything that it was not told, and what
// happens while its lease lasts.
func (e *Engine) push(ctx context.Context, p *task.Push) {
	next, err := e.pushEvents(ctx, p)
	now := e.cfg.Now()
	p.Due = now
	if next.After(now) {
		p.Due = next
	}
	if err != nil && ctx.Err() == nil { // else the next node goes on
		p.Failures++
		p.Tried, p.Error = now, deliver.Reason(err)
		wait, retry := deliver.Retry(p.Failures, err)
		if p.Failures == 1 && retry {
			e.cfg.Logger.Warn("a push notification has failed, and is tried again for about twenty minutes", "tree", p.Root.String(), "error", p.Error)
		}
		if !retry {
			e.cfg.Logger.Warn("a push notification is given up", "tree", p.Root.String(), "error", p.Error)
			p.Done = true
		}
		p.Due = now.Add(wait)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := e.cfg.Store.PutPush(ctx, *p); err != nil {
		e.cfg.Logger.Error("how far a push notification has come cannot be kept", "tree", p.Root.String(), "error", err)
	}
}

// pushEvents tells what there is, and returns when to look again.
func (e *Engine) pushEvents(ctx context.Context, p *task.Push) (next time.Time, err error) {
	w, stop := e.Watch(p.Root)
	defer stop()
	over := time.NewTimer(pushLease / 2)
	defer over.Stop()
	for {
		select {
		case <-w.C:
		case <-over.C:
			return next, nil
		case <-ctx.Done():
			return next, ctx.Err()
		}
		for more := true; more; {
			root, err := e.cfg.Store.TaskRow(ctx, p.Root)
			if errors.Is(err, ledger.ErrNotFound) {
				p.Done = true // the tree is gone
				return next, nil
			}
			if err != nil {
				return next, err
			}
			events, err := e.cfg.Store.TaskEvents(ctx, p.Root, p.Sent, 100)
			if err != nil {
				return next, err
			}
			for i := range events {
				select {
				case <-over.C: // before the lease ends, and another goes on from where this one was
					return next, nil
				default:
				}
				if ev := &events[i]; ev.Type == task.StatusUpdate {
					if err := e.call(ctx, p, ev); err != nil {
						return next, err
					}
				}
				p.Sent, p.Failures, p.Tried, p.Error = events[i].N, 0, time.Time{}, ""
			}
			if more = len(events) > 0; !more && root.Open == 0 {
				p.Done = root.Phase.Ended() && root.Next.IsZero()
				return e.cfg.Now().Add(pushIdle), nil // of a schedule: until it runs again
			}
		}
	}
}

// call makes the callback of one change, in the protocol's form.
func (e *Engine) call(ctx context.Context, p *task.Push, ev *task.Event) error {
	b := append([]byte(nil), `{"task_id":"`...)
	b = append(b, ev.Task.String()...)
	b = append(b, `","status":"`...)
	b = append(b, ev.Status...)
	b = append(b, `","progress":`...)
	b = strconv.AppendFloat(b, ev.Progress, 'g', -1, 64)
	b = append(b, `,"result":`...)
	result := []byte("null")
	if ev.Status == task.Completed {
		if t, err := e.cfg.Store.Task(ctx, ev.Task); err == nil && t.Result != nil {
			result = t.Result
		}
	}
	b = append(b, result...)
	if ev.Status == task.Failed || ev.Status == task.Cancelled {
		b = append(b, `,"error":`...)
		b = rawjson.AppendString(b, ev.Message)
	}
	b = append(b, '}')
	header := http.Header{}
	for name, value := range p.Headers {
		header.Set(name, value)
	}
	header.Set("Content-Type", "application/json")
	header.Set("X-Reeve-Event", fmt.Sprintf("%s/%d", p.Root, ev.N)) // the same at each try
	deliver.Sign(header, e.cfg.Push.Secret, b, time.Now())
	return deliver.Post(ctx, e.cfg.Push.Client, p.URL, header, b)
}

// Pushes tells how far push notifications have come, of one tree or with the zero ID of all.
func (e *Engine) Pushes(ctx context.Context, root task.ID, most int) (list []deliver.State, err error) {
	pushes, err := e.cfg.Store.Pushes(ctx, root, most)
	for i := range pushes {
		p := &pushes[i]
		one := deliver.State{Protocol: "flow", Task: p.Root.String(), To: deliver.To(p.URL), State: deliver.Open, Sent: p.Sent, Failures: p.Failures, Tried: p.Tried, Error: p.Error, Next: p.Due}
		if p.Done {
			one.State, one.Next = deliver.Done, time.Time{}
			if p.Failures > 0 {
				one.State = deliver.GivenUp
			}
		}
		list = append(list, one)
	}
	return list, err
}
