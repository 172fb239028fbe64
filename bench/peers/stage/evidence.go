package stage

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/fleet"
)

// act is one line of the evidence of any program.
type act struct {
	Node  string        `json:"node"`
	Start fence.Instant `json:"start"`
	End   fence.Instant `json:"end"`
	At    fence.Instant `json:"at"` // of an acknowledgement: when the commit was known
}

type evidence struct {
	dir  string
	acks bool
	tail fleet.Tail
	acts []act
}

// read reads what was written since the last time.
func (e *evidence) read() error {
	paths := []string{filepath.Join(e.dir, actsFile)}
	if e.acks {
		paths, _ = filepath.Glob(filepath.Join(e.dir, ackFiles))
	}
	for _, path := range paths {
		if err := e.more(path); err != nil {
			return err
		}
	}
	return nil
}

func (e *evidence) more(path string) error {
	return e.tail.Follow(path, func(line []byte) error {
		var a act
		if err := json.Unmarshal(line, &a); err != nil {
			return err
		}
		if e.acks {
			a.Node = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
			a.Start, a.End = a.At, a.At
		}
		e.acts = append(e.acts, a)
		return nil
	})
}

const (
	fresh = 200 * time.Millisecond // maximum age of a fresh act
	while = 100 * time.Millisecond // from the first fresh act to the last, at least
)

// leading returns the node that has acted for a while until now, if no other has; otherwise "".
func (e *evidence) leading(now fence.Instant) (node string) {
	var first, last fence.Instant
	for _, a := range e.acts[max(0, len(e.acts)-2000):] {
		switch {
		case now.Sub(a.End) > fresh:
		case node == "":
			node, first, last = a.Node, a.End, a.End
		case node != a.Node:
			return ""
		default:
			first, last = min(first, a.End), max(last, a.End)
		}
	}
	if last.Sub(first) < while {
		return ""
	}
	return node
}

// firstOther returns the first act of another node that began after the instant.
func (e *evidence) firstOther(node string, after fence.Instant) (first act, found bool) {
	for _, a := range e.acts {
		if a.Node != node && a.Start > after && (!found || a.Start < first.Start) {
			first, found = a, true
		}
	}
	return first, found
}

// lastBefore returns when the last act of a node before the instant ended.
func (e *evidence) lastBefore(node string, before fence.Instant) (last fence.Instant) {
	for _, a := range e.acts {
		if a.Node == node && a.End < before {
			last = max(last, a.End)
		}
	}
	return last
}

// handover adds a handover to the result: the time from the old leader's last act before the first act
// of the new one, and the old leader's acts after that.
func (e *evidence) handover(r *Result, node string, asked, first fence.Instant, found bool) {
	r.Handoff.add(first.Sub(e.lastBefore(node, max(first, asked))), found)
	if found {
		r.HandoffZombies.add(e.zombies(node, first, math.MaxInt64))
	}
}

// zombies counts a node's acts that ended between two instants, while another node acted.
func (e *evidence) zombies(node string, from, to fence.Instant) (n int) {
	for _, a := range e.acts {
		if a.Node == node && a.End > from && a.End < to {
			n++
		}
	}
	return n
}
