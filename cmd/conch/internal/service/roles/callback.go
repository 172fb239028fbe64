package roles

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

const (
	startPatience = 10 * time.Second
	stopPause     = 200 * time.Millisecond // doubled after each stop that failed
	stopPauseMost = 5 * time.Second
)

// callback is a role that another program runs, which is told when to start and to stop.
type callback struct {
	url    string        // without user and password: errors show it in the log and the history
	as     *url.Userinfo // user and password to send; nil: none
	id     string
	door   fence.Door
	stop   time.Duration   // how long one stop may take
	gone   context.Context // ends when all electors have ended
	resign func(why error) // gives up the scope while the role goes on; nil on a standalone node
	log    *slog.Logger
	client *http.Client
}

func newCallback(f node.Frame, at string, door fence.Door, stop time.Duration, resign func(error)) *callback {
	u, err := url.Parse(at)
	if err != nil {
		u = &url.URL{} // cannot happen: validated; the text is not shown
	}
	as := u.User
	u.User = nil
	return &callback{
		url: strings.TrimSuffix(u.String(), "/"), as: as, id: f.ID, door: door, stop: stop, gone: f.ElectorsOver, resign: resign, log: f.Log,
		client: &http.Client{
			// Two calls per term are not worth a connection that must be closed.
			Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse // an answer from another URL is no acknowledgement
			},
		},
	}
}

// lead is the role's function. It returns only when the other program has acknowledged its
// stop, since its return is promised to the successor.
func (c *callback) lead(ctx context.Context, l election.Leadership) error {
	if _, err := l.Gate.Require(c.door); err != nil { // the last check before the start is sent (S15)
		return err
	}
	if err := c.start(ctx, l); err != nil {
		err = fmt.Errorf("the start callback failed: %w", err)
		if !neverLeft(err) {
			c.untilStopped(ctx, l.Token, err) // it may have started, and only its answer was lost
		}
		return err
	}
	err := untilOver(ctx, l.Gate, c.door)
	c.untilStopped(ctx, l.Token, err)
	return err
}

// start sends the start. It stops waiting for the answer when the gate shuts, so that a program
// that acts before it answers is told to stop in time.
func (c *callback) start(ctx context.Context, l election.Leadership) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	over := make(chan error, 1)
	go func() {
		over <- untilOver(ctx, l.Gate, c.door)
		cancel()
	}()
	err := c.post(ctx, "start", l.Token)
	cancel()
	if late := <-over; err != nil && late != nil {
		return fmt.Errorf("%w: %w", late, err)
	}
	return err
}

// errLate ends a role whose gate is late. Only we can stop the other program, so we do not wait
// for the gate to open again.
var errLate = fmt.Errorf("the role was stopped: %w", fence.ErrLate)

// untilOver waits for the end of the leadership, or for the gate's last deadline and returns
// errLate. A failed heartbeat changes nothing if another succeeds in time.
func untilOver(ctx context.Context, gate *fence.Gate, door fence.Door) error {
	last := fence.Boottime()
	for {
		moved := gate.Moved()
		if at, open := gate.Deadline(door); open {
			last = at
		}
		left := last.Sub(fence.Boottime())
		if left <= 0 {
			return errLate
		}
		timer := time.NewTimer(left)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-moved:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// untilStopped sends the stop until the other program acknowledges it. When the drain's time is
// up, the elector abandons the scope; the calls go on, since this node cannot lead the scope
// again before. If the role has failed (why is not nil), it resigns as soon as a stop fails
// too: otherwise this node would lead and do nothing as long as the program is broken.
func (c *callback) untilStopped(ctx context.Context, t fence.Token, why error) {
	pauses := pause.Growing{First: stopPause, Most: stopPauseMost}
	for {
		call, cancel := context.WithTimeout(c.gone, c.stop)
		err := c.post(call, "stop", t)
		cancel()
		if err == nil {
			return
		}
		wait := pauses.Next()
		c.log.Warn("the stop callback is not acknowledged", slog.String("scope", t.Scope), slog.Int64("epoch", t.Epoch),
			slog.Any("error", err), slog.Duration("again_in", wait))
		if why != nil && c.resign != nil && ctx.Err() == nil {
			c.resign(why)
			why = nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-c.gone.Done():
			timer.Stop()
			return // the electors have ended, and this term was not released
		}
	}
}

// post sends one call. Any status but a 2xx is an error.
func (c *callback) post(ctx context.Context, verb string, t fence.Token) error {
	body, err := json.Marshal(map[string]any{"scope": t.Scope, "epoch": t.Epoch, "term": t.Term.String(), "id": c.id})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/"+verb, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if c.as != nil {
		password, _ := c.as.Password()
		req.SetBasicAuth(c.as.Username(), password)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Conch-Epoch", strconv.FormatInt(t.Epoch, 10))
	req.Header.Set("Conch-Term", t.Term.String())
	res, err := c.client.Do(req)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<16))
	_ = res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return fmt.Errorf("%s answered %s", req.URL, res.Status)
	}
	return nil
}

// neverLeft reports whether no connection was made, so that nothing can have started.
func neverLeft(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
