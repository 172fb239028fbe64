package logworld

import (
	"encoding/binary"
	"math/bits"

	"github.com/conchhq/conch/txlog"
)

// memory is the state of one copy, in a memory in which a bit may be flipped: then the content is another one, and the hash,
// which is kept by the diffs, is still that of the right one.
type memory struct {
	txlog.State

	skew [4]uint64 // what is added to the content's hash
	node *node     // whose it is
}

// Execute executes a goal, and counts it.
func (s *memory) Execute(goal []byte, budget *txlog.Budget) txlog.Outcome {
	s.node.executions++
	return s.State.Execute(goal, budget)
}

// state makes a state in the memory of a node's process.
func (n *node) state() txlog.State {
	s := &memory{State: n.r.machine.New(), node: n}
	if n.process != nil {
		const few = 12 // older ones are of copies that are gone
		n.memories = append(n.memories, s)
		n.memories = n.memories[max(0, len(n.memories)-few):]
	}
	return s
}

// Hash returns the hash as the diffs have made it.
func (s *memory) Hash() txlog.Hash { return shift(s.State.Hash(), s.skew, bits.Add64) }

// Restore replaces the content, and what was flipped in it.
func (s *memory) Restore(snapshot []byte) error {
	s.skew = [4]uint64{}
	return s.State.Restore(snapshot)
}

// flip changes the value of a key behind the back of the state.
func (s *memory) flip(key string) {
	right := s.Hash()
	o := s.State.Execute(s.node.r.machine.Put(key, 1_000_000), nil)
	if o.Fault != "" || s.State.Apply(o.Diff) != nil {
		return
	}
	wrong := s.State.Hash()
	s.skew = words(shift(right, words(wrong), bits.Sub64))
}

func words(h txlog.Hash) (w [4]uint64) {
	for i := range w {
		w[i] = binary.LittleEndian.Uint64(h[8*i:])
	}
	return w
}

func shift(h txlog.Hash, by [4]uint64, op func(x, y, carry uint64) (uint64, uint64)) (out txlog.Hash) {
	carry := uint64(0)
	for i, w := range words(h) {
		w, carry = op(w, by[i], carry)
		binary.LittleEndian.PutUint64(out[8*i:], w)
	}
	return out
}

// withMail is kv, and some goals want something done outside.
type withMail struct{ txlog.State }

// mailKey is the key of the goals that want it.
const mailKey = "mail/"

// Execute adds the effect.
func (s withMail) Execute(goal []byte, budget *txlog.Budget) txlog.Outcome {
	o := s.State.Execute(goal, budget)
	if o.Fault == "" && len(o.Diff) > 0 && isMail(goal) {
		o.Effects = append(o.Effects, txlog.Effect{Kind: "mail", Body: goal})
	}
	return o
}
