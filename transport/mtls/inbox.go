package mtls

import (
	"bytes"
	"time"

	"github.com/conchhq/conch/internal/step"
	"github.com/conchhq/conch/transport"
)

const (
	// boxMessages and boxBytes are how much of one peer waits for the reader of one line.
	boxMessages = 1024
	boxBytes    = 2 * transport.MostBody
	// inboxBytes is how much of all guests waits for the reader of one line, and 256 for each message: those that have come
	// and gone while it slept have a box too.
	inboxBytes = 256 << 20
)

// inbox has what waits for the reader of a line, apart for each peer: a peer that floods fills its own box, and the
// reader gets one message of each peer in turn. It is not safe for concurrent use.
type inbox struct {
	most  int // bytes of all; no limit if 0
	bytes int
	boxes map[string]*box
	turn  []string // the peers of whom something waits
}

type box struct {
	bodies [][]byte
	bytes  int
	room   step.Wake // has a token when something was taken
	asleep bool      // a wait for room was in vain, and nothing was taken since

	patience time.Duration // for which its peer's stream may still be held up
	counted  time.Time     // when that was said
}

// holds returns for how long the stream of its peer may be held up now.
func (b *box) holds(now time.Time) time.Duration {
	b.patience = min(yawn, b.patience+now.Sub(b.counted)/4)
	b.counted = now
	return b.patience
}

// put adds a copy of a message. If there is no room it is false.
func (i *inbox) put(from string, body []byte) bool {
	cost := len(body) + frameCost
	if i.most > 0 && i.bytes+cost > i.most {
		return false
	}
	b := i.boxes[from]
	if b == nil {
		if i.boxes == nil {
			i.boxes = map[string]*box{}
		}
		b = &box{room: step.NewWake(), patience: yawn, counted: time.Now()}
		i.boxes[from] = b
		i.turn = append(i.turn, from)
	}
	if len(b.bodies) >= boxMessages || b.bytes+len(body) > boxBytes {
		return false
	}
	b.bodies = append(b.bodies, bytes.Clone(body))
	b.bytes += len(body)
	i.bytes += cost
	return true
}

// take removes the next message of the peer whose turn it is.
func (i *inbox) take() (from string, body []byte, ok bool) {
	if len(i.turn) == 0 {
		return "", nil, false
	}
	from, i.turn = i.turn[0], i.turn[1:]
	b := i.boxes[from]
	body, b.bodies[0] = b.bodies[0], nil
	b.bodies, b.bytes, b.asleep = b.bodies[1:], b.bytes-len(body), false
	i.bytes -= len(body) + frameCost
	b.room.Ring()
	if len(b.bodies) == 0 {
		delete(i.boxes, from)
	} else {
		i.turn = append(i.turn, from)
	}
	return from, body, true
}
