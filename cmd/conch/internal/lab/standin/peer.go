package standin

import (
	"sync"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/wire"
	"github.com/conchhq/conch/transport"
)

// The first byte of a message, and of a heartbeat, as sequencer.Node sends them.
const messageTag = 0

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
				bytes := s.answer(key, e.Body)
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

// answer returns what a member says to a request for endorsements, or to contents that it is to keep: nil to anything else.
func (s *Site) answer(key Key, bytes []byte) []byte {
	if len(bytes) == 0 || bytes[0] != messageTag {
		return nil
	}
	msg, err := wire.Decode(bytes[1:])
	if err != nil {
		return nil
	}
	var body wire.Body
	switch asked := msg.Body.(type) {
	case wire.Endorse:
		body, err = s.endorse(key, asked)
	case wire.Attempts:
		body = wire.Noted{}
	}
	if body == nil || err != nil {
		return nil
	}
	out, err := wire.Encode(wire.Message{Contract: msg.Contract, Height: msg.Height, Request: msg.Request, Body: body})
	if err != nil {
		return nil
	}
	return append([]byte{messageTag}, out...)
}

func (s *Site) endorse(key Key, asked wire.Endorse) (body wire.Endorsed, err error) {
	for _, w := range asked.Attempts {
		v := wire.Verdict{Assembled: s.Scheme.Assembled(s.declared, w.Attempt)}
		if v.Signature, err = key.Sign(v.Assembled); err != nil {
			return body, err
		}
		body.Verdicts = append(body.Verdicts, v)
	}
	return body, nil
}

// Sent is a message that a node sends.
type Sent struct {
	To   string
	Body wire.Body
}

// mute is a member's place in the network, which falls silent for good with a certain message.
type mute struct {
	transport.Endpoint

	until  func(Sent) bool
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
	if msg, err := wire.Decode(body[1:]); err == nil && body[0] == messageTag && l.of.until(Sent{to, msg.Body}) {
		l.of.once.Do(func() { close(l.of.silent) })
		return nil
	}
	return l.Line.Send(to, body)
}
