package electorate

import (
	"errors"
	"slices"
	"time"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/world"
)

// conn is a session's connection, with the view of both ends.
type conn struct {
	p        *process
	key      int64 // the session at the server; 0 before it has one
	up, down *world.Pipe
	dead     bool // the client has noticed its end
}

// flight is a request under way.
type flight struct {
	sent  fence.Instant
	opens bool // a session
	over  bool
}

var (
	errStatement = errors.New("electorate: the statement failed")
	errFull      = errors.New("electorate: the lock table is full")
)

func (p *process) dial() *conn {
	c := &conn{p: p}
	noticed := false
	// The keepalives of both ends find out that a message was lost.
	broken := func() {
		if noticed {
			return
		}
		noticed = true
		if !p.r.breaks("server-lease") {
			p.r.w.After(p.r.w.Between(baseLease, 2*baseLease), func() { p.r.db.end(c.key) })
		}
		p.after(p.r.w.Between(baseLease, 2*baseLease), func() {
			c.dead = true
			if p.conn == c && p.flight != nil {
				p.answer(p.flight, lost())
			}
		})
	}
	c.up = p.r.net.NewPipe(p.node.name, databaseName, broken)
	c.down = p.r.net.NewPipe(databaseName, p.node.name, broken)
	return c
}

func lost() core.Failed { return core.Failed{Lost: true, Err: mint.ErrSessionLost} }

// call sends a request. It reads the send time first: the process may be stopped before the
// request leaves.
func (p *process) call(a core.Action) {
	_, opens := a.(core.Connect)
	if opens {
		p.conn = p.dial()
	}
	f, c := &flight{sent: p.now(), opens: opens}, p.conn
	p.flight = f
	p.after(p.core.Patience(a), func() { p.answer(f, lost()) })
	if c == nil || c.dead {
		p.after(time.Microsecond, func() { p.answer(f, lost()) })
		return
	}
	send := func() {
		c.up.Send(func() {
			p.r.db.begins(func() {
				p.r.db.serve(c, a, func(in core.Input) {
					deliver := func() { p.run(func() { p.answer(f, in) }) }
					if in == core.Input(lost()) {
						c.down.Reset(deliver)
						return
					}
					c.down.Send(deliver)
				})
			})
		})
	}
	if p.r.quiet || p.r.w.Chance(0.95) {
		send()
		return
	}
	p.after(p.r.w.Between(0, p.set.Lease/2), send)
}

// answer hands the result of a request to the loop, once.
func (p *process) answer(f *flight, in core.Input) {
	if f.over {
		return
	}
	f.over = true
	p.flight = nil
	sent := f.sent
	if p.r.breaks("anchor-on-send") {
		sent = p.now()
	}
	switch v := in.(type) {
	case core.Tried:
		if p.r.breaks("mint-anchored-on-send") {
			sent = p.now()
		}
		p.bidSent = f.sent
		v.Sent = sent
		in = v
	case core.Beaten:
		v.Sent = sent
		in = v
	}
	p.post(in)
}

// key returns the key of the current session; 0 if there is none.
func (p *process) key() int64 {
	if p.conn == nil {
		return 0
	}
	return p.conn.key
}

// hangUp closes the connection; the server may not hear of that.
func (p *process) hangUp() {
	if c := p.conn; c != nil {
		p.conn = nil
		c.up.Send(func() { p.r.db.end(c.key) })
	}
}

// processWait is a wait for the end of another process.
type processWait struct {
	core.Await
	asked bool // the server knows of it
}

// awaitProcess waits for the end of another process, outside the session, for a few seconds. The server reports it.
func (p *process) awaitProcess(a core.Await) {
	w := &processWait{Await: a}
	p.waits = append(p.waits, w)
	p.after(a.After, func() {
		w.asked = true
		p.r.net.Tell(p.node.name, databaseName, func() { p.r.db.isGone(p, a.Process) })
		p.after(p.r.w.Between(baseLease, 5*baseLease), func() { p.endWait(w, false, nil) })
	})
}

// endWait hands the result of a wait to the loop, once.
func (p *process) endWait(w *processWait, gone bool, err error) {
	if slices.Contains(p.waits, w) {
		p.dropWait(w.Serial)
		p.post(core.Waited{Process: w.Process, Serial: w.Serial, Gone: gone, Err: err})
	}
}

func (p *process) dropWait(serial uint64) {
	p.waits = slices.DeleteFunc(p.waits, func(w *processWait) bool { return w.Serial == serial })
}

func (p *process) watches(key int64) bool {
	return slices.ContainsFunc(p.waits, func(w *processWait) bool { return w.asked && w.Process == key })
}

// hearEnd tells a process that waits for it the end of another one, or why it cannot know that.
func (p *process) hearEnd(key int64, err error) {
	p.r.net.Tell(databaseName, p.node.name, func() {
		p.run(func() {
			for _, w := range slices.Clone(p.waits) {
				if w.asked && w.Process == key {
					p.endWait(w, err == nil, err)
				}
			}
		})
	})
}

func (p *process) hear(in core.Woken) {
	p.r.net.Tell(databaseName, p.node.name, func() { p.run(func() { p.post(in) }) })
}
