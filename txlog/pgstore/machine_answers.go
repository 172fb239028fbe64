package pgstore

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// wrote takes the answer to a write. Only a commit is told; without an answer nobody knows, so it is asked for again.
func (m *machine) wrote(in wrote) {
	t := m.turn
	if t == nil || t.writing != in.ID {
		return // of a leadership that is over
	}
	t.writing = 0
	switch {
	case in.Err == nil:
		t.failed, m.counts = false, 0
		records := slices.Clone(t.ahead[:t.sent])
		t.ahead, t.sent = t.ahead[t.sent:], 0
		m.advance(records)
	case final(in.Err):
		m.end(in.Err)
	default:
		t.failed, t.again = true, m.pause(in.Err)
	}
}

// advance tells of records that are committed.
func (m *machine) advance(records []txlog.Record) {
	m.at = records[len(records)-1].Position()
	m.tell(authority.Stored{Records: records})
	m.tell(authority.Committed{Index: m.at.Index})
}

// pause says when to try again.
func (m *machine) pause(err error) time.Duration {
	m.do(troubled{Err: err})
	m.counts++
	return m.now + pause.Doubled(firstPause, m.counts-1, longestPause)
}

// got takes what was read.
func (m *machine) got(in got) {
	if m.reads.id != in.ID {
		return // from before this leadership began or ended
	}
	m.reads.id = 0
	switch {
	case errors.Is(in.Err, ErrDamaged):
		m.stop(in.Err)
		return
	case in.Err != nil && m.turn != nil && final(in.Err):
		m.end(in.Err)
		return
	case in.Err != nil:
		m.reads.next = m.pause(in.Err)
		return
	}
	m.counts = 0
	if m.at.Hash != m.at.Log && in.Before != m.at.Hash || in.Newest < m.at.Index {
		m.stop(fmt.Errorf("%w: entry %d was %s", ErrForked, m.at.Index, m.at.Hash.Short()))
		return
	}
	at := m.at
	for i := range in.Next {
		if err := follows(at, &in.Next[i]); err != nil {
			m.stop(fmt.Errorf("%w: %w", ErrForked, err))
			return
		}
		at = in.Next[i].Position()
	}
	if len(in.Next) == 0 && m.reads.known > m.at.Index {
		m.stop(fmt.Errorf("%w: entry %d is missing", ErrDamaged, m.at.Index+1))
		return
	}
	m.reads.known = in.Newest
	if n := len(in.Next); n > 0 {
		// Of whom the newest entry is, follows: a hint, since somebody else may lead by now.
		if last := in.Next[n-1]; last.Term > m.term {
			m.term = last.Term
			m.tell(authority.Deposed{Term: last.Term, Leader: last.Leader})
		}
		m.advance(in.Next)
	}
	if in.Newest > m.at.Index {
		m.reads.another = true
		return
	}
	m.complete()
}

// complete ends the reading of a node that is to lead: it has everything. The fence has seen to it that nobody of an earlier
// term writes any more.
func (m *machine) complete() {
	t := m.turn
	if t == nil {
		return
	}
	if epoch := uint64(t.token.Epoch); epoch <= m.term {
		m.end(fmt.Errorf("%w: the token has epoch %d, and the log an entry of term %d", ErrSpent, epoch, m.term))
		return
	}
	t.leads, m.term = true, uint64(t.token.Epoch)
	m.tell(authority.Leads{Term: m.term})
}

// found answers the reads that were asked for before.
func (m *machine) found(in found) {
	if m.finds.id != in.ID {
		return
	}
	under := m.finds.under
	m.finds.id, m.finds.under = 0, nil
	if in.Err != nil {
		m.do(troubled{Err: fmt.Errorf("the newest entry is not known: %w", in.Err)}) // the asker has a limit of its own, and asks again
		return
	}
	if in.Newest < m.finds.at {
		m.stop(fmt.Errorf("%w: it ends at entry %d, and entry %d was committed", ErrForked, in.Newest, m.finds.at))
		return
	}
	if m.leads() && in.Newest > m.at.Index+uint64(m.turn.sent) {
		m.end(fmt.Errorf("%w: entry %d is there", ErrTaken, in.Newest))
	} else if in.Newest > m.at.Index {
		m.reads.another = true
	}
	for _, read := range under {
		m.tell(authority.Confirmed{Read: read, Index: in.Newest})
	}
}

func (m *machine) leads() bool { return m.turn != nil && m.turn.leads }
