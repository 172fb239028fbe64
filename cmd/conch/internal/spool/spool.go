// Package spool writes the log of a process that must not wait for its reader: a pipe whose reader has stopped blocks
// its writer, and a leader that waits there is late with its heartbeat.
package spool

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// most is how many bytes wait for the reader, beside those that the system keeps for it.
const most = 256 << 10

// Spool is a writer that never waits and never fails. Lines for which there is no room, or which cannot be written, are
// lost and counted, and the number is said where they are missing.
type Spool struct {
	to     io.Writer
	say    func(lost int) error
	missed int           // lines that were lost before the next one; of run's goroutine
	over   chan struct{} // closed when all is written after Close
	total  atomic.Uint64 // of lines that were lost

	mu      sync.Mutex
	work    sync.Cond // something waits, or was lost, or the end has come
	waiting [][]byte
	size    int // of what waits
	lost    int // lines after those that wait
	closed  bool
}

// New returns a spool before a writer. say writes there, too, that lines were lost. Close it.
func New(to io.Writer, say func(lost int) error) *Spool {
	s := &Spool{to: to, say: say, over: make(chan struct{})}
	s.work.L = &s.mu
	go s.run()
	return s
}

// Write takes one line.
func (s *Spool) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost > 0 || s.size+len(line) > most { // once one is lost, the next may come only after the word about it
		s.lost++
		s.total.Add(1)
	} else {
		s.waiting, s.size = append(s.waiting, bytes.Clone(line)), s.size+len(line)
	}
	s.work.Signal()
	return len(line), nil
}

// Lost returns how many lines were lost since the start. It never waits.
func (s *Spool) Lost() uint64 { return s.total.Load() }

// Close waits until all lines are written, or for as long as it is told. What comes later is lost.
func (s *Spool) Close(within time.Duration) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.work.Signal()
	select {
	case <-s.over:
	case <-time.After(within):
	}
}

func (s *Spool) run() {
	defer close(s.over)
	for closed := false; !closed; {
		s.mu.Lock()
		for len(s.waiting) == 0 && s.lost == 0 && !s.closed {
			s.work.Wait()
		}
		lines, lost := s.waiting, s.lost
		s.waiting, s.size, s.lost, closed = nil, 0, 0, s.closed
		s.mu.Unlock()
		for _, line := range lines {
			if s.heard() {
				if _, err := s.to.Write(line); err == nil {
					continue
				}
			}
			s.missed++
			s.total.Add(1)
		}
		s.missed += lost
		s.heard()
	}
}

// heard says how many lines were lost, if any were, and reports whether that is written.
func (s *Spool) heard() bool {
	if s.missed > 0 && s.say(s.missed) == nil {
		s.missed = 0
	}
	return s.missed == 0
}
