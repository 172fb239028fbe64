package providertest

import (
	"slices"
	"sync/atomic"
)

// Answerer answers a call: the node, or the behaviours that stand before it.
type Answerer func(c *Call) Answer

// Behaviour answers one call: by itself, or by next with another call, another answer or neither.
type Behaviour func(c *Call, next Answerer) Answer

// Server answers a whole request.
type Server func(r *Request) *Reply

// Transport answers one request: by itself, or by next with other calls or answers.
type Transport func(r *Request, next Server) *Reply

// On limits a behaviour to some methods.
func (b Behaviour) On(methods ...string) Behaviour {
	return b.when(func(c *Call) bool { return slices.Contains(methods, c.Method) })
}

// While limits a behaviour to the time in which a switch is on.
func (b Behaviour) While(s *Switch) Behaviour {
	return b.when(func(*Call) bool { return s.IsOn() })
}

func (b Behaviour) when(applies func(*Call) bool) Behaviour {
	return func(c *Call, next Answerer) Answer {
		if !applies(c) {
			return next(c)
		}
		return b(c, next)
	}
}

// While limits a transport to the time in which a switch is on.
func (t Transport) While(s *Switch) Transport {
	return t.when(func(*Request) bool { return s.IsOn() })
}

func (t Transport) when(applies func(*Request) bool) Transport {
	return func(r *Request, next Server) *Reply {
		if !applies(r) {
			return next(r)
		}
		return t(r, next)
	}
}

// Switch turns a behaviour on and off while the provider serves.
type Switch struct{ on atomic.Bool }

// On turns the switch on.
func (s *Switch) On() { s.on.Store(true) }

// Off turns the switch off.
func (s *Switch) Off() { s.on.Store(false) }

// IsOn reports whether the switch is on.
func (s *Switch) IsOn() bool { return s.on.Load() }

// take turns the switch off, and reports whether it was on: for what happens once.
func (s *Switch) take() bool { return s.on.CompareAndSwap(true, false) }

// chained puts behaviours before an answerer, the first one outermost.
func chained(behaviours []Behaviour, last Answerer) Answerer {
	for _, b := range slices.Backward(behaviours) {
		next := last
		last = func(c *Call) Answer { return b(c, next) }
	}
	return last
}

// stacked puts transports before a server, the first one outermost.
func stacked(transports []Transport, last Server) Server {
	for _, t := range slices.Backward(transports) {
		next := last
		last = func(r *Request) *Reply { return t(r, next) }
	}
	return last
}
