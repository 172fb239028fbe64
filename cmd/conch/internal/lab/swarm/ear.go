//go:build unix

package swarm

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/nodeapi"
)

// told is what the supervisor hears of a process: one of the pointers.
type told struct {
	life  int
	at    time.Time
	view  *named  // what it names now
	heard *string // the topic of a piece of news
	piece *string // the topic of a piece that it has taken
	peers *int    // how many neighbours it has
	gap   *string // why something may not have been told
}

// ear hears what one process tells, on the Unix socket of its API.
type ear struct {
	*nodeapi.Node

	life int
	tell func(told)
}

const (
	knockEvery = 20 * time.Millisecond // until a process serves its API
	answerMost = 10 * time.Second

	leaderKind = "gossip.leader"
	newsKind   = "gossip.news"
)

func newEar(life int, socket string, tell func(told)) *ear {
	return &ear{nodeapi.Listening("unix:"+socket, 0, 0), life, tell}
}

// listen hears until ctx ends. It hears news before it is said that the process names somebody: from then on the process
// owes each piece.
func (e *ear) listen(ctx context.Context) {
	defer e.Close()
	var both sync.WaitGroup
	defer both.Wait()
	open := make(chan struct{})
	news := stream{ear: e, kind: newsKind, opened: func(context.Context) error { close(open); return nil }}
	both.Go(func() { news.follow(ctx) })
	select {
	case <-open:
	case <-ctx.Done():
		return
	}
	leaders := stream{ear: e, kind: leaderKind}
	leaders.opened = func(ctx context.Context) (err error) {
		leaders.since, err = e.look(ctx, true)
		return err
	}
	leaders.follow(ctx)
}

// stream has the events of one kind.
type stream struct {
	*ear
	kind   string
	opened func(context.Context) error // is called once, when the first one is open
	since  time.Time                   // by the process's clock: what it has told until then is known
	last   string                      // the place of the last event
	began  bool
}

// follow hears until ctx ends. A stream that breaks is taken up where it was; what was missed is told then, or that there
// was more.
func (s *stream) follow(ctx context.Context) {
	for ctx.Err() == nil {
		_ = s.once(ctx) // whatever ends it, the next one begins
		select {
		case <-ctx.Done():
		case <-time.After(knockEvery):
		}
	}
}

func (s *stream) once(ctx context.Context) error {
	return s.Follow(ctx, "/v1/events?"+s.kind+"="+namespace, &s.last, nodeapi.Listener{
		Opened: func() error {
			if s.began {
				return nil
			}
			err := s.opened(ctx)
			s.began = err == nil
			return err
		},
		Heard: s.hear,
	})
}

// hear takes an event.
func (s *stream) hear(kind string, data []byte) error {
	now := time.Now()
	if kind == "gap" {
		text := string(data)
		s.tell(told{life: s.life, at: now, gap: &text})
		return nil
	}
	var e struct {
		At    time.Time `json:"at"`
		Topic string    `json:"topic"`
		view
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	switch {
	case kind == newsKind:
		s.tell(told{life: s.life, at: now, heard: &e.Topic})
	case kind == leaderKind && e.At.After(s.since):
		s.tell(told{life: s.life, at: now, view: &named{e.Leader, e.Number}})
	}
	return nil
}

// view is what a node says of a namespace.
type view struct {
	Namespace string `json:"namespace"`
	Leader    string `json:"leader"` // empty or null: nobody
	Number    uint64 `json:"reign"`
}

// look asks how many neighbours the process has and, unless a stream tells it, what it names. It returns when that was, by
// the process's clock.
func (e *ear) look(ctx context.Context, names bool) (at time.Time, err error) {
	var answer struct {
		AsOf       time.Time         `json:"as_of"`
		Namespaces []view            `json:"namespaces"`
		Neighbours []json.RawMessage `json:"neighbours"`
	}
	if err := e.ask(ctx, http.MethodGet, "/v1/nodes", nil, &answer); err != nil {
		return at, err
	}
	now, peers := time.Now(), len(answer.Neighbours)
	e.tell(told{life: e.life, at: now, peers: &peers})
	for _, v := range answer.Namespaces {
		if names && v.Namespace == namespace {
			e.tell(told{life: e.life, at: now, view: &named{v.Leader, v.Number}})
		}
	}
	return answer.AsOf, nil
}

// publish has the process tell a piece of news. Its time is before the request: all that comes after counts as the way.
func (e *ear) publish(ctx context.Context, topic string) error {
	at := time.Now()
	err := e.ask(ctx, http.MethodPut, "/v1/nodes/"+namespace+"/news/"+topic, []byte("from the demo"), &struct{}{})
	if err == nil {
		e.tell(told{life: e.life, at: at, piece: &topic})
	}
	return err
}

// ask asks for a while.
func (e *ear) ask(ctx context.Context, method, path string, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, answerMost)
	defer cancel()
	return e.Ask(ctx, method, path, body, out)
}
