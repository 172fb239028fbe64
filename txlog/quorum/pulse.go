package quorum

import (
	"context"
	"time"

	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
)

// beat is a message that says that this node lives.
type beat struct {
	to   string
	body wire.Body
}

// mostBusy is for how long beats are sent again within one step. After that the others are to take this node for dead.
const mostBusy = 100 * round

// keepBeats keeps the last beats that the core has sent. They are of no use any more when the core gives its term up, or hears that another
// node leads, or nobody.
func (l *loop) keepBeats(acts []core.Act) {
	var now []beat
	over := false
	for _, a := range acts {
		switch a := a.(type) {
		case core.Send:
			if a.Beat {
				now = append(now, beat{to: a.To, body: a.Body})
			}
		case core.Restart:
			now, over = nil, true
		case core.Tell:
			if leads, is := a.Event.(core.Leads); is && !leads.Self {
				now, over = nil, true
			}
		}
	}
	if len(now) > 0 || over {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.beats = now
	}
}

// works notes since when the core takes an input, or a copy is made of the store; 0: neither.
func (l *loop) works(since time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = since
}

// pulse sends the last beats again while a step takes long: a scrub of a large state, or a copy that is made anew, takes seconds. The
// others would elect somebody else, who has to do the same. A network may repeat such a message too: it moves no door, and
// counts in its term alone. A node that waits for its disk says nothing.
func (h *Host) pulse(ctx context.Context) {
	tick := time.NewTicker(round)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		h.mu.Lock()
		beats, busy := h.beats, h.busy
		h.mu.Unlock()
		if took := h.cfg.Clock() - busy; busy == 0 || took < round || took > mostBusy {
			continue
		}
		for _, b := range beats {
			_ = h.send(b.to, b.body)
		}
	}
}
