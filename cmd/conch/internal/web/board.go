package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	boardRing  = 16 << 10 // how many notices a stream can resume over
	boardBytes = 32 << 20 // and how many bytes of them
	boardQueue = 4 << 10  // how many notices a stream may fall behind: fewer, so that its client can resume
)

// Notice is what a service tells on /v1/events, besides the events of the history.
type Notice struct {
	Kind    string // names it in a stream, and is the parameter by which a caller selects a subject
	Subject string // what it is about; empty: it concerns all of its kind
	Data    any    // shown as JSON; it must not change any more
	Size    int    // how many bytes it holds in memory, if they are many
	Gap     string // unless empty: why callers may have missed notices of the kind; shown in place of Data
	Ends    bool   // no more are told here for now: streams of one subject end with it
	// For is asked for each stream whether its caller may see the notice, of which Token is the caller: nil, ErrHidden, or an error with which
	// the stream ends, for the client to resume. If For is nil, all may.
	For func(caller context.Context) error
}

// ErrHidden is the answer of a [Notice.For] to a caller that may not see the notice.
var ErrHidden = errors.New("the caller may not see this")

// Selection returns the subject that a caller names, or a *[Problem] if there is none, or nothing of it is told here.
type Selection func(named string) (subject string, err error)

// Board passes notices of a process's services on to event streams. It keeps the newest, over which a client can resume.
// A client that has missed more, or that comes from another process, is told so. Safe for concurrent use.
type Board struct {
	run string // names this run of the process

	mu      sync.Mutex
	kinds   map[string]Selection
	number  uint64            // of the newest notice
	ring    []posted          // the newest ones
	lost    map[choice]uint64 // of each kind and subject the newest that is no more among them; there are few, as the configuration says
	bytes   int               // that they hold
	readers map[*noticeReader]struct{}
	left    time.Time // when the last one has left
}

type posted struct {
	Notice

	run    string // of the process
	number uint64
}

// noticeReader gets notices on its channel, which is closed when it falls behind.
type noticeReader struct {
	choice
	notices chan posted
}

// choice is what a stream has selected. The zero choice has all.
type choice struct{ kind, subject string }

func (c choice) has(n Notice) bool {
	return c.kind == "" || c.kind == n.Kind && (n.Subject == "" || n.Subject == c.subject)
}

// NewBoard returns an empty board.
func NewBoard() *Board {
	return &Board{run: strings.ToLower(rand.Text()[:8]), kinds: map[string]Selection{}, lost: map[choice]uint64{}, readers: map[*noticeReader]struct{}{}}
}

// Offer says that a service tells notices of a kind.
func (b *Board) Offer(kind string, s Selection) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kinds[kind] = s
}

// Tell passes a notice on. It never waits: a stream that does not keep up is dropped, and its client resumes.
func (b *Board) Tell(n Notice) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.number++
	p := posted{n, b.run, b.number}
	b.ring = append(b.ring, p)
	if b.bytes += n.Size; len(b.ring) >= 2*boardRing || b.bytes >= 2*boardBytes {
		b.shorten()
	}
	for r := range b.readers {
		if !r.has(n) {
			continue
		}
		select {
		case r.notices <- p:
		default:
			b.drop(r)
		}
	}
}

// shorten forgets the older notices. It needs the lock.
func (b *Board) shorten() {
	from := max(0, len(b.ring)-boardRing)
	for _, p := range b.ring[:from] {
		b.bytes -= p.Size
	}
	for ; b.bytes > boardBytes; from++ {
		b.bytes -= b.ring[from].Size
	}
	for _, p := range b.ring[:from] {
		b.lost[choice{p.Kind, p.Subject}] = p.number
	}
	b.ring = slices.Clone(b.ring[from:])
}

// names returns the kinds, each of which is a parameter that selects a subject.
func (b *Board) names() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.kinds))
}

// choose reads what a query selects, and asks the kind's service about it with check; a query may select nothing.
func (b *Board) choose(q url.Values) (named choice, check func() (choice, error), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	check = func() (choice, error) { return choice{}, nil }
	for _, kind := range slices.Sorted(maps.Keys(b.kinds)) {
		if !q.Has(kind) {
			continue
		}
		if named.kind != "" {
			return named, nil, Failf(http.StatusBadRequest, "%s and %s are two selections: open a stream for each", named.kind, kind).Wrong(kind)
		}
		named = choice{kind, q.Get(kind)}
		find := b.kinds[kind]
		check = func() (choice, error) {
			subject, err := find(named.subject)
			return choice{kind, subject}, err
		}
	}
	return named, check, nil
}

// join adds a reader of what is told after join has returned. If its client resumes after a place, missed has what was told
// since; gap reports that there may have been more. The place returned is where the reader begins.
func (b *Board) join(c choice, resumes bool, after place) (r *noticeReader, missed []posted, gap bool, at place) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r = &noticeReader{c, make(chan posted, boardQueue)}
	b.readers[r] = struct{}{}
	if b.number > 0 {
		at = place{run: b.run, notice: b.number}
	}
	if !resumes || b.number == 0 && after.run == "" {
		return r, nil, false, at
	}
	if after.run != b.run || after.notice > b.number || b.forgot(c, after.notice) {
		return r, nil, true, at
	}
	for _, p := range b.ring[max(0, len(b.ring)-int(b.number-after.notice)):] {
		if c.has(p.Notice) {
			missed = append(missed, p)
		}
	}
	return r, missed, false, at
}

// forgot reports whether a notice after a number that a choice has cannot be resumed over any more: what is told of one subject, as a log
// with many entries, is no gap in the streams of another. It needs the lock.
func (b *Board) forgot(c choice, after uint64) bool {
	for of, number := range b.lost {
		if number > after && c.has(Notice{Kind: of.kind, Subject: of.subject}) {
			return true
		}
	}
	return false
}

// lingers is for how long a reader counts as one that has left: its client may come back and resume.
const lingers = time.Minute

// Heard reports whether anybody may want notices of a kind: a service that has to look for them saves the trouble.
func (b *Board) Heard(kind string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.left.IsZero() && time.Since(b.left) < lingers {
		return true
	}
	for r := range b.readers {
		if r.kind == "" || r.kind == kind {
			return true
		}
	}
	return false
}

func (b *Board) leave(r *noticeReader) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(r)
}

// drop removes a reader and closes its channel. It needs the lock.
func (b *Board) drop(r *noticeReader) {
	if _, in := b.readers[r]; in {
		b.left = time.Now()
		delete(b.readers, r)
		close(r.notices)
	}
}

// gapOf tells a client that it may have missed events of a kind; the history's has no name.
type gapOf struct {
	Of  string `json:"of,omitempty"`
	Why string `json:"why,omitempty"`
}

// all returns the kinds that a choice has.
func (b *Board) all(c choice) []string {
	if c.kind != "" {
		return []string{c.kind}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.kinds))
}

// shown returns a notice's name in a stream, and its data.
func (n Notice) shown() (event string, data []byte, err error) {
	if n.Gap != "" {
		data, err = json.Marshal(gapOf{n.Kind, n.Gap})
		return "gap", data, err
	}
	data, err = json.Marshal(n.Data)
	return n.Kind, data, err
}
