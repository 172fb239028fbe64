package standin

import (
	"sync"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/sequencertest"
	"github.com/conchhq/conch/transport"
)

// Peer has a stand-in endorse for a member what it is asked, each time after a delay.
func (s *Site) Peer(name string, delay time.Duration) error {
	line, err := s.network.Join(name).Open(sequencer.Subject)
	if err != nil {
		return err
	}
	key := s.Scheme.Stamp(name)
	s.running.Go(func() {
		defer line.Close()
		var answers sync.WaitGroup
		defer answers.Wait()
		for {
			select {
			case <-s.ctx.Done():
				return
			case e := <-line.Inbox():
				bytes := sequencertest.Agree(s.declared, s.Scheme, key, e.Body)
				if bytes == nil {
					continue
				}
				if delay == 0 {
					_ = line.Send(e.From, bytes) // it may get lost
					continue
				}
				answers.Add(1)
				time.AfterFunc(delay, func() {
					defer answers.Done()
					_ = line.Send(e.From, bytes)
				})
			}
		}
	})
	return nil
}

// mute is a member's place in the network, which falls silent for good with a certain message.
type mute struct {
	transport.Endpoint

	until  func(kind string) bool
	once   sync.Once
	silent chan struct{}
}

// Open implements transport.Endpoint.
func (m *mute) Open(subject string) (transport.Line, error) {
	l, err := m.Endpoint.Open(subject)
	return muteLine{l, m}, err
}

type muteLine struct {
	transport.Line
	of *mute
}

// Send implements transport.Line.
func (l muteLine) Send(to string, body []byte) error {
	if l.of.until == nil {
		return l.Line.Send(to, body)
	}
	select {
	case <-l.of.silent:
		return nil
	default:
	}
	if kind, _ := sequencertest.Look(body); l.of.until(kind) {
		l.of.once.Do(func() { close(l.of.silent) })
		return nil
	}
	return l.Line.Send(to, body)
}
