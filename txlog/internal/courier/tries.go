package courier

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/conchhq/conch/txlog"
)

// tries remembers what was sent, so that an answer is that of the goal for which it was sent, also if nobody waits for it any
// more, or somebody waits again.
type tries struct {
	last  uint64
	first uint64 // the oldest that is remembered
	most  uint64
	by    map[uint64]try
}

type try struct {
	to   string
	goal *goal
}

func (t *tries) begin(g *goal, to string) uint64 {
	t.last++
	t.by[t.last] = try{to: to, goal: g}
	for ; t.last-t.first >= t.most; t.first++ {
		delete(t.by, t.first)
	}
	return t.last
}

// end takes a try out, if it was sent to that node.
func (t *tries) end(number uint64, from string) (*goal, bool) {
	of, is := t.by[number]
	if !is || of.to != from {
		return nil, false
	}
	delete(t.by, number)
	return of.goal, true
}

// late keeps answers for which nobody waits, until somebody asks for the same goal again (V2).
type late struct {
	most  int
	by    map[[sha256.Size]byte]txlog.Answer
	order [][sha256.Size]byte
}

// name is no other goal's: an id may hold any byte, so its length comes first.
func name(id string, body []byte) [sha256.Size]byte {
	var room [1 << 10]byte // for most goals there is nothing to allocate
	return sha256.Sum256(append(append(binary.AppendUvarint(room[:0], uint64(len(id))), id...), body...))
}

func (l *late) keep(id string, body []byte, answer txlog.Answer) {
	key := name(id, body)
	if _, is := l.by[key]; !is {
		l.order = append(l.order, key)
	}
	l.by[key] = answer
	if len(l.order) > l.most {
		delete(l.by, l.order[0])
		l.order = l.order[1:]
	}
}

func (l *late) find(id string, body []byte) (txlog.Answer, bool) {
	if len(l.by) == 0 {
		return txlog.Answer{}, false
	}
	answer, is := l.by[name(id, body)]
	return answer, is
}
