package pg

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// headStart is how long a place is tried alone before the next one is tried beside it.
const headStart = 500 * time.Millisecond

// lastGood has, for each URL, the place of the last good connection, which is tried first.
var lastGood sync.Map

// race tries the places beside each other and returns the first good connection. The next one is tried
// when one has failed, or has not answered in its head start. Together they have the time of one that is
// silent, and at most three quarters of the caller's: the rest is for the use of the connection, or for
// saying why there is none.
func race(ctx context.Context, key string, places []place, try func(context.Context, place) (*pgx.Conn, error)) (*pgx.Conn, error) {
	if len(places) == 1 {
		return try(ctx, places[0])
	}
	r := heat{ends: make(chan tried, len(places)), left: inOrder(places, key), head: headStart, try: try}
	most := places[0].cfg.ConnectTimeout + time.Duration(len(places))*headStart
	if deadline, limited := ctx.Deadline(); limited {
		whole := time.Until(deadline)
		r.head, most = min(headStart, whole/time.Duration(2*len(places))), min(most, whole*3/4)
	}
	ctx, end := context.WithTimeout(ctx, most)
	defer end() // of what is still tried when one has won
	won := r.run(ctx)
	if won.conn == nil {
		return nil, joined(ctx, places, r.failed)
	}
	// A standby that was good enough once would keep the primary from ever being tried.
	if won.conn.PgConn().ParameterStatus("in_hot_standby") != "on" {
		lastGood.Store(key, won.name)
	}
	return won.conn, nil
}

// heat is one race.
type heat struct {
	ends    chan tried
	left    []place // to be tried
	again   []place // to be tried again, if there is time
	running int
	failed  []tried
	head    time.Duration
	try     func(context.Context, place) (*pgx.Conn, error)
}

func (r *heat) run(ctx context.Context) tried {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for r.running > 0 || len(r.left) > 0 {
		select {
		case <-timer.C:
			if len(r.left) == 0 { // while another is silent, one that restarts or is promoted may be back
				r.left, r.again = r.again, nil
			}
			timer.Reset(r.head)
		case one := <-r.ends:
			r.running--
			if one.conn != nil {
				go func() { // closes the connections that come after the first
					for range r.running {
						if late := <-r.ends; late.conn != nil {
							leave(late.conn)
						}
					}
				}()
				return one
			}
			same := func(t tried) bool { return t.name == one.name }
			if ctx.Err() == nil || !slices.ContainsFunc(r.failed, same) { // a second try that is cut short says less than the first
				r.failed = append(slices.DeleteFunc(r.failed, same), one)
			}
			if code := Code(one.err); code == "" && !pgconn.Timeout(one.err) || code == codeStarting {
				r.again = append(r.again, one.place)
			}
		}
		if len(r.left) > 0 {
			r.start(ctx, r.left[0])
			r.left = r.left[1:]
			timer.Reset(r.head)
		}
	}
	return tried{}
}

func (r *heat) start(ctx context.Context, p place) {
	r.running++
	go func() {
		began := time.Now()
		conn, err := r.try(ctx, p)
		r.ends <- tried{place: p, conn: conn, err: err, took: time.Since(began)}
	}()
}

// inOrder puts the last good place first.
func inOrder(places []place, key string) []place {
	good, _ := lastGood.Load(key)
	at := max(0, slices.IndexFunc(places, func(p place) bool { return p.name == good }))
	return slices.Concat(places[at:at+1], places[:at], places[at+1:])
}

// joined makes one error of those of several places, in their order.
func joined(ctx context.Context, places []place, failed []tried) error {
	turn := func(t tried) int { return slices.IndexFunc(places, func(p place) bool { return p.name == t.name }) }
	slices.SortStableFunc(failed, func(a, b tried) int { return turn(a) - turn(b) })
	whole := &addressesError{}
	for _, one := range failed {
		if inner := outcomes(one.err); inner != nil {
			whole.all = append(whole.all, inner...)
		} else {
			whole.all = append(whole.all, one)
		}
	}
	differs := func(one tried) bool { return Sentence(one.err) != Sentence(failed[0].err) }
	if !slices.ContainsFunc(failed, differs) || errors.Is(ctx.Err(), context.Canceled) {
		return failed[0].err
	}
	return whole
}
