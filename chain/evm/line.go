package evm

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
)

// line is a connection. A WebSocket may stay open and bring nothing any more: its peer was lost without an
// end, or a gateway has lost its node and goes on to answer pings. So what counts is an answer or a head, and
// a line on which a request waits and nothing comes is given up. Safe for concurrent use.
type line struct {
	client   *rpc.Client
	patience func() time.Duration // nil: the line is never given up
	giveUp   func(*line)

	mu     sync.Mutex
	open   int         // requests without an answer
	since  time.Time   // since when nothing has come, while some are open
	timer  *time.Timer // calls check; nil if it is not set
	silent error       // why the line was given up
}

// begin notes that a request waits.
func (l *line) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open++; l.open == 1 {
		l.since = time.Now()
	}
	if l.patience != nil && l.timer == nil {
		l.timer = time.AfterFunc(leastPatience, l.check)
	}
}

// end notes that a request has ended. It returns the error that tells why: err, unless it is only that the
// line was given up.
func (l *line) end(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if _, _, spoken := answered(err); spoken || err == nil {
		l.since = time.Now()
		return err
	}
	if l.silent != nil {
		return l.silent
	}
	return err
}

// hears notes that a head has come.
func (l *line) hears() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since = time.Now()
}

// check gives the line up if a request waits, and nothing has come for as long as its patience lasts.
func (l *line) check() {
	if l.isSilent() {
		l.giveUp(l)
	}
}

func (l *line) isSilent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = nil
	if l.open == 0 {
		return false
	}
	most := l.patience()
	if time.Since(l.since) < most {
		l.timer = time.AfterFunc(leastPatience, l.check) // by then the time of a block may be another
		return false
	}
	l.silent = fmt.Errorf("the connection is open, and nothing has come for %v", most)
	return true
}

// connections has the line of an endpoint. Safe for concurrent use.
type connections struct {
	turn chan struct{} // held by the one that connects

	mu     sync.Mutex
	line   *line
	ending sync.WaitGroup // lines that were given up and are not closed yet
}

func (c *connections) current() *line {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.line
}

func (c *connections) replace(by *line) (old *line) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, c.line = c.line, by
	return old
}

// lock waits for its turn to connect, and not longer than ctx.
func (c *connections) lock(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *connections) unlock() { <-c.turn }

// giveUp closes a line, which ends all requests on it. The next one connects anew.
func (c *connections) giveUp(l *line) (was bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.line != l {
		return false
	}
	c.line = nil
	c.ending.Go(l.client.Close) // it says goodbye first, and the peer may not read it
	return true
}

// close closes the line, and waits for those that were given up.
func (c *connections) close() {
	c.turn <- struct{}{} // while it is held nothing connects, and so no other line is given up
	defer c.unlock()
	if l := c.replace(nil); l != nil {
		l.client.Close()
	}
	c.ending.Wait()
}
