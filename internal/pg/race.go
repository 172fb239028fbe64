package pg

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// lastGood has, for each URL, the place of the last good connection, which is tried first.
var lastGood sync.Map

// race tries the places beside each other and returns the first good connection. The next one is tried
// when one has failed, or has not answered in its head start. Together they have most of the time that
// the caller has: the rest is for the use of the connection, or for saying why there is none.
func race(ctx context.Context, key string, places []place, try func(context.Context, place) (*pgx.Conn, error)) (*pgx.Conn, error) {
	if len(places) == 1 {
		return try(ctx, places[0])
	}
	r := heat{ends: make(chan end, len(places)), left: inOrder(places, key), head: headStart, try: try}
	if deadline, limited := ctx.Deadline(); limited {
		left := time.Until(deadline)
		r.head = min(headStart, left/time.Duration(2*len(places)))
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, left*3/4)
		defer cancel()
	}
	ctx, cancel := context.WithCancel(ctx) // ends what is still tried when one has won
	defer cancel()
	won, failed := r.run(ctx)
	if won.conn == nil {
		return nil, joined(ctx, places, failed)
	}
	go r.closeLate()
	// A standby that was good enough once would keep the primary from ever being tried.
	if won.conn.PgConn().ParameterStatus("in_hot_standby") != "on" {
		lastGood.Store(key, won.at)
	}
	return won.conn, nil
}

// heat is one race.
type heat struct {
	ends    chan end
	left    []place // not yet tried
	running int
	head    time.Duration
	try     func(context.Context, place) (*pgx.Conn, error)
}

type end struct {
	tried
	conn *pgx.Conn
}

func (r *heat) run(ctx context.Context) (won end, failed []tried) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for r.running > 0 || len(r.left) > 0 {
		select {
		case <-timer.C:
		case e := <-r.ends:
			r.running--
			if e.conn != nil {
				return e, nil
			}
			failed = append(failed, e.tried)
		}
		if len(r.left) > 0 {
			r.start(ctx, r.left[0])
			r.left = r.left[1:]
			timer.Reset(r.head)
		}
	}
	return end{}, failed
}

func (r *heat) start(ctx context.Context, p place) {
	r.running++
	go func() {
		began := time.Now()
		conn, err := r.try(ctx, p)
		r.ends <- end{tried{at: p.name, err: err, took: time.Since(began)}, conn}
	}()
}

// closeLate closes the connections that came after the first.
func (r *heat) closeLate() {
	for range r.running {
		if e := <-r.ends; e.conn != nil {
			leave(e.conn)
		}
	}
}

// inOrder puts the last good place first.
func inOrder(places []place, key string) []place {
	good, _ := lastGood.Load(key)
	at := slices.IndexFunc(places, func(p place) bool { return p.name == good })
	if at < 1 {
		return places
	}
	return slices.Concat(places[at:at+1], places[:at], places[at+1:])
}

// joined makes one error of those of several places, in their order.
func joined(ctx context.Context, places []place, all []tried) error {
	turn := func(t tried) int { return slices.IndexFunc(places, func(p place) bool { return p.name == t.at }) }
	slices.SortStableFunc(all, func(a, b tried) int { return turn(a) - turn(b) })
	whole := &addressesError{}
	same := true
	for _, one := range all {
		same = same && Sentence(one.err) == Sentence(all[0].err)
		if inner, several := errors.AsType[*addressesError](one.err); several {
			whole.all = append(whole.all, inner.all...)
		} else {
			whole.all = append(whole.all, one)
		}
	}
	if same || errors.Is(ctx.Err(), context.Canceled) {
		return all[0].err
	}
	return whole
}
