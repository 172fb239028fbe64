package gossip

import (
	"slices"
	"sync"

	"github.com/conchhq/conch/internal/step"
)

// mostEvents is how many events wait for a reader that is slow.
const mostEvents = 1024

// mailbox has the events that are not told yet. It never makes the loop wait: what is too much is left out, refusals
// first, then the oldest news. It is safe for concurrent use.
type mailbox struct {
	mu     sync.Mutex
	events []Event
	missed int
	ready  step.Wake
}

func newMailbox() *mailbox { return &mailbox{ready: step.NewWake()} }

func (m *mailbox) put(e Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.events) >= mostEvents {
		m.leaveOut(e)
	}
	m.events = append(m.events, e)
	m.ready.Ring()
}

// leaveOut makes room for an event. Of the suggestions for a namespace only the newest counts: then there are fewer of
// them than there are namespaces.
func (m *mailbox) leaveOut(e Event) {
	if l, is := e.(Leader); is {
		before := len(m.events)
		m.events = slices.DeleteFunc(m.events, func(o Event) bool { old, is := o.(Leader); return is && old.Namespace == l.Namespace })
		if m.missed += before - len(m.events); len(m.events) < before {
			return
		}
	}
	at := slices.IndexFunc(m.events, func(o Event) bool { _, is := o.(Refused); return is })
	if at < 0 {
		at = slices.IndexFunc(m.events, func(o Event) bool { _, is := o.(Leader); return !is })
	}
	if at >= 0 {
		m.events = slices.Delete(m.events, at, at+1)
		m.missed++
	}
}

// take returns all that waits, after a word of what was left out.
func (m *mailbox) take() []Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.events
	if m.missed > 0 {
		all = slices.Insert(all, 0, Event(Missed{m.missed}))
	}
	m.events, m.missed = nil, 0
	return all
}

// tellAll tells events until stop is closed.
func (m *mailbox) tellAll(tell func(Event), stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-m.ready:
		}
		for _, e := range m.take() {
			select {
			case <-stop:
				return
			default:
				tell(e)
			}
		}
	}
}
