package logworld

import (
	"crypto/ed25519"
	"time"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
)

// node is one process on one host with one disk.
type node struct {
	r     *run
	index int
	name  string
	key   ed25519.PrivateKey
	clock *world.Clock
	disk  *disk

	life   int // how often it has been started or killed
	up     bool
	paused bool
	busy   bool                // its loop is at work
	waits  bool                // its loop waits for the disk
	then   func()              // what its loop goes on with
	inbox  []func() core.Input // what has happened to it, and waits for its loop

	*process         // nil: it does not run
	door       *door // of its newest term
	flipped    bool  // its memory is wrong
	wasFlipped bool  // it was, and what it has made may still come
	executions int   // of goals, in all its lives
	quits      bool  // its disk has failed, or its store is out: it starts no more by itself
}

// now is the reading of the node's own clock.
func (n *node) now() time.Duration { return time.Duration(n.clock.Read()) }

// mostWaiting is how much waits for a process that stands still; the rest is lost, as in full buffers.
const mostWaiting = 2000

// takes is something that happens to a process: its loop does one thing after the other. What comes of it is for the core.
func (n *node) takes(what func() core.Input) {
	if !n.up || len(n.inbox) >= mostWaiting {
		return
	}
	n.inbox = append(n.inbox, what)
	n.loop()
}

// put gives the core an input.
func (n *node) put(in core.Input) { n.takes(func() core.Input { return in }) }

// mostTogether is how many inputs the core takes at one time: what is to be kept of all is kept with one sync.
const mostTogether = 32

// loop goes on until nothing is left to do, or the disk is waited for.
func (n *node) loop() {
	for n.up && !n.paused && !n.busy && !n.waits && (n.then != nil || len(n.inbox) > 0) {
		n.busy = true
		if then := n.then; then != nil {
			n.then = nil
			then()
		} else if batch := n.gather(); len(batch) > 0 && n.process != nil {
			n.feed(batch)
		}
		n.busy = false
	}
}

// gather takes what waits, up to a limit.
func (n *node) gather() (batch core.Batch) {
	life := n.life
	for len(n.inbox) > 0 && len(batch) < mostTogether {
		next := n.inbox[0]
		n.inbox = n.inbox[1:]
		in := next()
		if n.life != life {
			return nil
		}
		if in != nil {
			batch = append(batch, in)
		}
	}
	return batch
}

// boot starts the process from what its disk has.
func (n *node) boot() {
	if n.up {
		return
	}
	n.life++
	n.up, n.paused, n.busy, n.waits, n.then, n.inbox = true, false, false, false, nil, nil
	n.r.w.Note(n.name, "starts", int64(n.life))
	n.takes(n.begin)
	n.ticks(n.life)
}

// ticks lets time pass, a round by the node's own clock.
func (n *node) ticks(life int) {
	n.r.w.After(n.clock.For(n.r.w.Between(round-2*time.Millisecond, round+2*time.Millisecond)), func() {
		if n.life != life || !n.up {
			return
		}
		if !n.paused {
			n.takes(n.tick)
		}
		n.ticks(life)
	})
}

// crash ends the process. If its host goes with it, what was not synced is lost.
func (n *node) crash(withHost bool) {
	n.ends(withHost, map[bool]string{true: "dies with its host", false: "is killed"}[withHost])
}

// ends is a crash, or an end of the process's own accord, for a reader of the story.
func (n *node) ends(withHost bool, how string) {
	if !n.up {
		return
	}
	r := n.r
	r.Stats["crashes"]++
	r.tell(n, "%s", how)
	n.life++
	n.up, n.paused, n.busy, n.waits, n.then, n.inbox, n.process, n.flipped = false, false, false, false, nil, nil, nil, false
	r.shuts(n)
	n.disk.crash(withHost, !r.broken(syncFirst), r.w)
	for _, c := range r.clients {
		if c.home == n && c.now != nil && !c.now.done && !withHost {
			c.hangsUp(c.now, c.now.tries)
		}
	}
}

// never is a time after which a process does not start again by itself.
const never = time.Duration(-1)

// restarts starts the process again after a time.
func (n *node) restarts(wait time.Duration) {
	if wait == never {
		return
	}
	n.r.w.After(wait, func() {
		if !n.up && !n.quits {
			n.r.tell(n, "starts again")
			n.boot()
		}
	})
}

// pause has the process stand still, as by SIGSTOP: its clock goes on.
func (n *node) pause(wait time.Duration) {
	if !n.up || n.paused {
		return
	}
	n.r.tell(n, "stands still for %s", wait.Round(time.Millisecond))
	n.paused = true
	life := n.life
	n.r.w.After(wait, func() {
		if n.life == life && n.paused {
			n.Thaw()
		}
	})
}

// Thaw implements story.Node: the process goes on.
func (n *node) Thaw() {
	n.r.tell(n, "goes on")
	n.paused = false
	n.loop()
}

// decides reports whether a node's store is a member's, as far as is committed.
func (r *run) decides(n *node) bool {
	m, is := txlog.FindMember(r.members(), n.name)
	return is && m.Store == n.disk.id
}

// members returns who decides, as far as is committed.
func (r *run) members() []txlog.Member {
	if r.spoiled {
		return r.genesis.Members
	}
	return r.pure.Members()
}

// leader returns the node that leads in the highest term, or nil.
func (r *run) leader() *node {
	var first *node
	for _, n := range r.nodes {
		if n.up && !n.paused && n.process != nil && n.leads && (first == nil || n.term > first.term) {
			first = n
		}
	}
	return first
}
