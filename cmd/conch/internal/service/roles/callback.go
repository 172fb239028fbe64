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

	"github.com/conchhq/conch/cmd/conch/internal/backoff"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

const (
	startPatience = 10 * time.Second
	stopPause     = 200 * time.Millisecond // doubled after each stop that failed
	stopPauseMost = 5 * time.Second
)

// callback is a role that is another program's: it is told when to begin and when
// to end, and what it does between is its own affair.
type callback struct {
	url    string        // without who is named in it: errors tell the URL, to the log and to the history
	as     *url.Userinfo // a name and a password to be sent; nil: none
	id     string
	door   fence.Door
	stop   time.Duration   // how long one stop may take
	gone   context.Context // ends when the elector has
	resign func(why error) // gives the scope up while the role goes on; nil: nobody could take it
	log    *slog.Logger
	client *http.Client
}

func newCallback(f node.Frame, at string, door fence.Door, stop time.Duration, resign func(error)) *callback {
	u, err := url.Parse(at)
	if err != nil {
		u = &url.URL{} // the configuration was refused, and what stands there is not told
	}
	as := u.User
	u.User = nil
	return &callback{
		url: strings.TrimSuffix(u.String(), "/"), as: as, id: f.ID, door: door, stop: stop, gone: f.Gone, resign: resign, log: f.Log,
		client: &http.Client{
			// A call or two a term: not worth a connection that somebody has to close.
			Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse // an answer from elsewhere is no acknowledgement
			},
		},
	}
}

// lead is the role's function. It returns only once the other program has said
// that it ended: returning is what makes the elector promise it to the successor.
func (c *callback) lead(ctx context.Context, l election.Leadership) error {
	if _, err := l.Gate.Require(c.door); err != nil { // the last look before it leaves (S15)
		return err
	}
	if err := c.start(ctx, l); err != nil {
		err = fmt.Errorf("the start callback failed: %w", err)
		if !neverLeft(err) {
			c.untilStopped(ctx, l.Token, err) // perhaps it did begin, and only its answer was lost
		}
		return err
	}
	err := untilOver(ctx, l.Gate, c.door)
	c.untilStopped(ctx, l.Token, err)
	return err
}

// start is not waited for longer than the gate is open: a program that acts before
// it answers would be told to stop only after the answer.
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

// errLate ends a role whose gate shut because no heartbeat came in time. Nobody
// stops what the other program does but us, so it is not left to go on in the hope
// that the gate opens again.
var errLate = fmt.Errorf("the role was stopped: %w", fence.ErrLate)

// untilOver waits for the end of the leadership or of the last deadline that the
// gate had, whichever is first. A heartbeat that fails and is followed by a good
// one in time changes nothing.
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

// untilStopped tells the other program to end until it acknowledges. When the
// time to drain is up the elector gives the scope up without the promise; the
// calls go on, at a slower pace, since until then this node cannot lead again.
// A role that has failed, as why says, gives the scope up as soon as a stop fails too,
// or this node would lead and do nothing for as long as the program is broken.
func (c *callback) untilStopped(ctx context.Context, t fence.Token, why error) {
	pauses := backoff.Pauses{First: stopPause, Most: stopPauseMost}
	for {
		call, cancel := context.WithTimeout(c.gone, c.stop)
		err := c.post(call, "stop", t)
		cancel()
		if err == nil {
			return
		}
		pause := pauses.After(0)
		c.log.Warn("the stop callback is not acknowledged", slog.String("scope", t.Scope), slog.Int64("epoch", t.Epoch),
			slog.Any("error", err), slog.Duration("again_in", pause))
		if why != nil && c.resign != nil && ctx.Err() == nil {
			c.resign(why)
			why = nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-c.gone.Done():
			timer.Stop()
			return // the elector has ended, without the promise
		}
	}
}

// post sends one call; anything but a 2xx is a failure.
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

// neverLeft tells that no connection was made, so nothing can have begun.
func neverLeft(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
