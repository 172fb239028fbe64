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

// most is how many lines wait for the reader, beside those that the system keeps for it.
const most = 1000

// Spool is a writer that never waits and never fails. Lines for which there is no room, or which cannot be written, are
// lost and counted, and the number is said where they are missing.
type Spool struct {
	to     io.Writer
	say    func(lost int) error
	missed int           // lines that were lost before the next one; of run's goroutine
	over   chan struct{} // closed when all is written after Close
	total  atomic.Uint64 // of lines that were lost

	mu      sync.Mutex
	waiting chan []byte // nil after Close: no line is taken
	lost    int         // lines after those that wait
}

// New returns a spool before a writer. say writes there, too, that lines were lost. Close it.
func New(to io.Writer, say func(lost int) error) *Spool {
	s := &Spool{to: to, say: say, over: make(chan struct{}), waiting: make(chan []byte, most)}
	go s.run(s.waiting)
	return s
}

// Write takes one line.
func (s *Spool) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to := s.waiting
	if s.lost > 0 {
		to = nil // once one is lost, the next may come only after the word about it
	}
	select {
	case to <- bytes.Clone(line):
	default:
		s.lost++
		s.total.Add(1)
	}
	return len(line), nil
}

// Lost returns how many lines were lost since the start. It never waits.
func (s *Spool) Lost() uint64 { return s.total.Load() }

// Close waits until all lines are written, or for as long as it is told. What comes later is lost. Close it once.
func (s *Spool) Close(within time.Duration) {
	s.mu.Lock()
	close(s.waiting)
	s.waiting = nil
	s.mu.Unlock()
	select {
	case <-s.over:
	case <-time.After(within):
	}
}

func (s *Spool) run(waiting <-chan []byte) {
	defer close(s.over)
	for line := range waiting {
		err := s.heard()
		if err == nil {
			_, err = s.to.Write(line)
		}
		if err != nil {
			s.missed++
			s.total.Add(1)
		}
		if len(waiting) == 0 { // lines are lost only while all places are taken, so those come here, too
			s.mu.Lock()
			s.missed, s.lost = s.missed+s.lost, 0
			s.mu.Unlock()
			_ = s.heard()
		}
	}
}

// heard says how many lines were lost, if any were.
func (s *Spool) heard() (err error) {
	if s.missed > 0 {
		if err = s.say(s.missed); err == nil {
			s.missed = 0
		}
	}
	return err
}
