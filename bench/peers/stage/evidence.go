package stage

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/conchhq/conch/fence"
)

// act is one line of the evidence, whichever program wrote it.
type act struct {
	Node  string        `json:"node"`
	Start fence.Instant `json:"start"`
	End   fence.Instant `json:"end"`
	At    fence.Instant `json:"at"` // of an acknowledgement: when the commit was known
}

// evidence is the acts of one part's candidates, read as they come.
type evidence struct {
	dir    string
	acks   bool
	offset map[string]int64
	acts   []act
}

// read takes in what was written since the last time.
func (e *evidence) read() error {
	paths := []string{filepath.Join(e.dir, outcome)}
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
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	text := make([]byte, info.Size()-e.offset[path])
	if len(text) == 0 {
		return nil
	}
	if _, err := file.ReadAt(text, e.offset[path]); err != nil {
		return err
	}
	end := bytes.LastIndexByte(text, '\n') + 1 // a line under way is read next time
	e.offset[path] += int64(end)
	for line := range bytes.Lines(text[:end]) {
		var a act
		if err := json.Unmarshal(line, &a); err != nil {
			return err
		}
		if e.acks {
			a.Node = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
			a.Start, a.End = a.At, a.At
		}
		e.acts = append(e.acts, a)
	}
	return nil
}

const (
	fresh = 200 * time.Millisecond // an act that is no older than this
	while = 100 * time.Millisecond // from the first fresh one to the last, at least
)

// leading is whoever has been acting for a while until now, if nobody else has; empty if
// there is no such candidate.
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

// firstOther is the first act that began after the instant by somebody else.
func (e *evidence) firstOther(node string, after fence.Instant) (first act, found bool) {
	for _, a := range e.acts {
		if a.Node != node && a.Start > after && (!found || a.Start < first.Start) {
			first, found = a, true
		}
	}
	return first, found
}

// lastBefore is the last act of a node that ended before the instant.
func (e *evidence) lastBefore(node string, before fence.Instant) (last fence.Instant) {
	for _, a := range e.acts {
		if a.Node == node && a.End < before {
			last = max(last, a.End)
		}
	}
	return last
}

// handover takes one into the result: from the last act of the one, before the other
// began, to the first of the other, and what the one did beside the other.
func (e *evidence) handover(r *Result, node string, asked, first fence.Instant, found bool) {
	r.Handoff.add(first.Sub(e.lastBefore(node, max(first, asked))), found)
	if found {
		r.HandoffZombies.add(e.zombies(node, first, math.MaxInt64))
	}
}

// zombies counts acts of a node that ended after another had begun to act, while
// that one went on: between the two instants.
func (e *evidence) zombies(node string, from, to fence.Instant) (n int) {
	for _, a := range e.acts {
		if a.Node == node && a.End > from && a.End < to {
			n++
		}
	}
	return n
}
