package evm

import (
	"sync"
	"time"
)

// leastPatience is how long a request may wait at least, on a line on which nothing comes.
const leastPatience = time.Second

// patience returns for how long nothing may come on a WebSocket on which a request waits: for the time of a
// block and for four looks at the head, and at most for Timeout. A server may answer one request after the
// other, so that a slow one looks like silence: each time that a line was given up the time doubles, for ten
// minutes.
func (c *Chain) patience() time.Duration {
	block := c.pace.block()
	if block == 0 {
		return c.cfg.Timeout // no second head yet
	}
	least := max(leastPatience, 4*c.cfg.Poll, block)
	return min(least<<c.pace.silences(), c.cfg.Timeout)
}

// pace is how fast blocks come, and how often a line fell silent. Safe for concurrent use.
type pace struct {
	mu      sync.Mutex
	number  uint64
	at      time.Time
	average time.Duration
	fell    int // lines
	fellAt  time.Time
}

// notice takes the height of a head.
func (p *pace) notice(number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if number <= p.number && p.number > 0 {
		return
	}
	now := time.Now()
	if p.number > 0 {
		took := now.Sub(p.at) / time.Duration(number-p.number)
		if p.average == 0 {
			p.average = took
		}
		p.average = max((3*p.average+took)/4, 1)
	}
	p.number, p.at = number, now
}

// block returns the time of a block, 0 if it is not known.
func (p *pace) block() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.average
}

// fellSilent notes that a line was given up.
func (p *pace) fellSilent() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fell, p.fellAt = min(p.fell+1, mostSilences), time.Now()
}

const (
	mostSilences  = 6 // patience is at most 64 times as long
	forgetSilence = 10 * time.Minute
)

func (p *pace) silences() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.fellAt) > forgetSilence {
		p.fell = 0
	}
	return p.fell
}
