package spreadtest

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"

	"github.com/conchhq/conch/txlog"
)

// tally is the state machine of this world: it has the number of its diffs, and a hash of all of them in turn, so that thousands of
// copies fit into memory.
type tally struct {
	count uint64
	hash  txlog.Hash
}

func newTally() txlog.State { return &tally{} }

// Execute implements txlog.State.
func (s *tally) Execute(goal []byte, _ *txlog.Budget) txlog.Outcome { return txlog.Outcome{Diff: goal} }

// Apply implements txlog.State.
func (s *tally) Apply(diff []byte) error {
	if len(diff) > 0 {
		s.count++
		s.hash = sha256.Sum256(append(s.hash[:], diff...))
	}
	return nil
}

// View implements txlog.State.
func (s *tally) View() txlog.View { v := *s; return &v }

// Query implements txlog.View.
func (s *tally) Query([]byte, *txlog.Budget) ([]byte, error) {
	return binary.BigEndian.AppendUint64(nil, s.count), nil
}

// Hash implements txlog.State.
func (s *tally) Hash() txlog.Hash { return s.hash }

// Snapshot implements txlog.State.
func (s *tally) Snapshot() []byte {
	return append(binary.BigEndian.AppendUint64(nil, s.count), s.hash[:]...)
}

// Restore implements txlog.State.
func (s *tally) Restore(snapshot []byte) error {
	if len(snapshot) != 40 {
		return txlog.ErrMalformed
	}
	s.count = binary.BigEndian.Uint64(snapshot)
	s.hash = txlog.Hash(snapshot[8:])
	return nil
}

// leaderKey is the key of the one member.
func leaderKey() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) }

func genesis(name string) txlog.Genesis {
	public, _ := leaderKey().Public().(ed25519.PublicKey)
	return txlog.Genesis{
		Namespace: "log", Machine: "tally/1",
		Members: []txlog.Member{{Name: name, Key: txlog.Fingerprint(public), Store: 1}},
	}.With()
}
