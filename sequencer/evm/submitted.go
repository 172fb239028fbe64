package evm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Stage is how far a call that has not ended has come.
type Stage uint8

// The stages.
const (
	Queued   Stage = iota // it has no nonce, and no bytes of it exist
	Signed                // it may be in a pool
	Included              // it is in a block that is not final
)

// Submitted is a call that a Submitter has taken and that has not ended.
type Submitted struct {
	ID    string
	Key   string
	Call  chain.Call
	Stage Stage
	Waits string // what is in its way, empty if nothing is known to be
}

// mark tells entries apart: its intent, and the owner's signature of the grant.
type mark [4 * wordSize]byte

func markOf(e ledger.Entry) mark {
	r, vs := compact(e.Grant.Signature)
	return mark(join(account(e.Owner), sequence(e.Sequence), r, vs))
}

// carriers knows which calls carry which entries: those of this process, and those that the submitter had when it began.
type carriers struct {
	mu    sync.Mutex
	asked bool // for those of an earlier process
	by    map[mark]carrier
	ended map[string]bool // keys of calls that have ended without effect: one that is taken again needs another
	ids   sync.Map        // of the calls in by; it may have some besides
}

// note notes what carries an entry.
func (c *carriers) note(m mark, by carrier) {
	c.by[m] = by
	c.ids.Store(by.id, nil)
}

// carrier is the last call that carried an entry.
type carrier struct {
	id, key string // empty if there was none that this process knows
	ended   bool   // without effect
	why     string
}

// Review implements sequencer.Reviewer.
//
// A call that has a nonce stays as it is, whatever it carries: its bytes may have left. So does one that another process has
// handed over since this one began: that process leads, and knows what it awaits.
func (l *Ledger) Review(ctx context.Context, awaited []ledger.Entry) (lost []ledger.Entry, waits string, err error) {
	l.sent.mu.Lock()
	defer l.sent.mu.Unlock()
	if err := l.remember(ctx); err != nil {
		return nil, "", err
	}
	open, err := l.cfg.Submitter.UnderWay(ctx, l.address[:])
	if err != nil {
		return nil, "", err
	}
	needs := map[mark]bool{}
	for _, e := range awaited {
		needs[markOf(e)] = true
	}
	carried, err := l.recall(ctx, open, needs)
	if err != nil {
		return nil, "", err
	}
	for _, e := range awaited {
		m := markOf(e)
		at, is := carried[m]
		if !is {
			c, err := l.carrier(ctx, m)
			if err != nil {
				return nil, "", err
			}
			if !c.ended && c.id != "" {
				continue // it is in a block, of which the node hears
			}
			if lost = append(lost, e); c.why != "" {
				at.Waits = "given up: " + c.why
			}
		}
		waits = cmp.Or(waits, at.Waits)
	}
	for m := range l.sent.by {
		if _, is := carried[m]; !is && !needs[m] {
			delete(l.sent.by, m)
		}
	}
	if len(l.sent.by) == 0 {
		clear(l.sent.ended)
		l.sent.ids.Clear()
	}
	return lost, waits, nil
}

// Heed implements sequencer.Reviewer.
func (l *Ledger) Heed(_ context.Context, told func()) (leave func(), err error) {
	return l.cfg.Submitter.Heed(func(id string) {
		if _, ours := l.sent.ids.Load(id); ours {
			told()
		}
	}), nil
}

// carrier returns what has carried an entry that no call under way carries.
func (l *Ledger) carrier(ctx context.Context, m mark) (carrier, error) {
	c := l.sent.by[m]
	if c.id == "" || c.ended {
		return c, nil
	}
	lost, why, err := l.cfg.Submitter.Lost(ctx, c.id)
	if err != nil || !lost {
		return c, err
	}
	for other, one := range l.sent.by { // all that it carried
		if one.id == c.id {
			one.ended, one.why = true, why
			l.sent.by[other] = one
		}
	}
	l.sent.ended[c.key] = true
	return l.sent.by[m], nil
}

// recall returns which call under way carries each entry, and withdraws those of this process that carry nothing that is
// needed.
func (l *Ledger) recall(ctx context.Context, open []Submitted, needs map[mark]bool) (carried map[mark]Submitted, err error) {
	carried = map[mark]Submitted{}
	for _, s := range open {
		marks := marksIn(s.Call.Data)
		ours, needed := false, len(marks) == 0 // a cancellation is needed
		for _, m := range marks {
			carried[m] = s
			ours, needed = ours || l.sent.by[m].id == s.ID, needed || needs[m]
		}
		if ours && !needed && s.Stage == Queued {
			if err := l.cfg.Submitter.Withdraw(ctx, s.ID); err != nil {
				return nil, err
			}
			l.sent.ended[s.Key] = true
		}
	}
	return carried, nil
}

// remember asks the submitter, once, for what an earlier process has handed over.
func (l *Ledger) remember(ctx context.Context) error {
	if l.sent.asked {
		return nil
	}
	open, err := l.cfg.Submitter.UnderWay(ctx, l.address[:])
	if err != nil {
		return err
	}
	for _, s := range open {
		for _, m := range marksIn(s.Call.Data) {
			l.sent.note(m, carrier{id: s.ID, key: s.Key})
		}
	}
	l.sent.asked = true
	return nil
}

// fresh returns the entries that no call carries.
func (l *Ledger) fresh(ctx context.Context, all []ledger.Entry) (left []ledger.Entry, err error) {
	if err := l.remember(ctx); err != nil {
		return nil, err
	}
	for _, e := range all {
		if c, carried := l.sent.by[markOf(e)]; !carried || c.ended {
			left = append(left, e)
		}
	}
	return left, nil
}

// take hands a call to the submitter, and notes what it carries.
func (l *Ledger) take(ctx context.Context, tx ledger.Sent) error {
	data, err := Calldata(tx)
	if err != nil {
		return err
	}
	call := chain.Call{To: l.address[:], Data: data, Gas: gas(l.contract, tx, data)}
	k := key(call)
	for base, n := k, 2; l.sent.ended[k]; n++ {
		k = fmt.Sprint(base, again, n)
	}
	id, err := l.cfg.Submitter.Submit(ctx, k, call, lastOf(tx))
	if err != nil {
		return err
	}
	for _, e := range tx.Entries {
		l.sent.note(markOf(e), carrier{id: id, key: k})
	}
	return nil
}

// lastOf returns the last block in which all entries of a transaction can land; 0: a cancellation can in any.
func lastOf(tx ledger.Sent) (last uint64) {
	for i, e := range tx.Entries {
		if i == 0 || e.Grant.ValidUntil < last {
			last = e.Grant.ValidUntil
		}
	}
	return last
}

// again is in the key of a call that is taken again, since the first one has ended without effect.
const again = " again "

// marksIn returns the marks of the entries in a call's data, nil if it has none.
func marksIn(data []byte) (marks []mark) {
	rest, is := bytes.CutPrefix(data, submitSelector)
	if !is {
		return nil
	}
	rest, err := at(rest, 0)
	if err != nil || len(rest) < wordSize {
		return nil
	}
	n, all := count(rest), rest[wordSize:]
	for i := range min(n, uint64(len(all)/wordSize)) {
		e, err := at(all, int(i))
		if err != nil || len(e) < (markPlace+2)*wordSize {
			return nil
		}
		marks = append(marks, mark(slices.Concat(e[:2*wordSize], e[markPlace*wordSize:(markPlace+2)*wordSize])))
	}
	return marks
}

// markPlace is the word of an entry at which the signature of its grant begins: after owner, sequence and payload, the
// places of five lists, delegation and last block.
const markPlace = 10

var errOffset = errors.New("an offset leads out of the data")

// at follows the offset in a word.
func at(b []byte, word int) ([]byte, error) {
	if len(b) < (word+1)*wordSize {
		return nil, errOffset
	}
	to := count(b[word*wordSize:])
	if to > uint64(len(b)) {
		return nil, errOffset
	}
	return b[to:], nil
}

// count reads a word that is a small number.
func count(b []byte) uint64 {
	for _, high := range b[:wordSize-8] {
		if high != 0 {
			return 1 << 63
		}
	}
	return binary.BigEndian.Uint64(b[wordSize-8:])
}
