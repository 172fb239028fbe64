//go:build unix

package payer

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/hook"
	"github.com/conchhq/conch/pending/pgstore"
)

// Receiver is a receiver of webhooks in this process. It is safe for concurrent use.
type Receiver struct {
	name, url string
	server    *http.Server

	mu     sync.Mutex
	events int
	finals []Final
}

// told is what the receiver reads of an event.
type told struct {
	ID    int64
	At    time.Time
	Final bool
}

// Final is a final state that a receiver was told of.
type Final struct {
	ID   int64     // the event's
	At   time.Time // when its row was written, which is before it is committed
	Came time.Time // the POST
}

// Receive starts a receiver, which takes every event, or one that is silent: it never answers.
func Receive(name string, silent bool) (*Receiver, error) {
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Receiver{name: name, url: "http://" + at.Addr().String() + "/"}
	r.server = &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if silent {
			_, _ = io.Copy(io.Discard, req.Body)
			<-req.Context().Done()
			return
		}
		var e told
		if err := json.NewDecoder(req.Body).Decode(&e); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.note(e)
	})}
	go func() { _ = r.server.Serve(at) }()
	return r, nil
}

func (r *Receiver) note(e told) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events++
	if e.Final {
		r.finals = append(r.finals, Final{e.ID, e.At, time.Now()})
	}
}

// Got returns how many events it was told of, and the final states among them.
func (r *Receiver) Got() (events int, finals []Final) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events, append([]Final(nil), r.finals...)
}

// Close ends it.
func (r *Receiver) Close() { _ = r.server.Close() }

// Open has a receiver told of what happens from now on.
func (p *Payer) Open(ctx context.Context, token fence.Token, r *Receiver) error {
	_, _, err := p.tables.Hook(r.name, token).Open(ctx)
	return err
}

// Tell tells receivers of events until stop is called, which returns the first error.
func (p *Payer) Tell(ctx context.Context, gate *fence.Gate, token fence.Token, receivers ...*Receiver) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var all []*hook.Deliverer
	for _, r := range receivers {
		d, err := hook.New(hook.Receiver{Name: r.name, URL: r.url, Local: true, Keys: [][]byte{make([]byte, 32)}, Body: func(e *hook.Event) []byte {
			text, _ := json.Marshal(told{ID: e.ID, At: e.At, Final: e.Kind == pending.ToldFinal})
			return text
		}}, p.tables.Hook(r.name, token), hook.Events{})
		if err != nil {
			cancel()
			return nil, err
		}
		all = append(all, d)
	}
	wake := func() {
		for _, d := range all {
			d.Wake()
		}
	}
	var work sync.WaitGroup
	faults := make([]error, len(all))
	for i, d := range all {
		work.Go(func() {
			if err := d.Run(ctx, gate); ctx.Err() == nil {
				faults[i] = err
			}
		})
	}
	work.Go(func() {
		_ = p.tables.Listen(ctx, pgstore.Heard{Waits: func(string, chain.Account) {}, Told: wake, Missed: wake})
	})
	return func() error { cancel(); work.Wait(); return errors.Join(faults...) }, nil
}
