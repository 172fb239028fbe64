package quorum_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/store"
)

// summed is a kv whose hash is a sum of SHA-256, modulo 2^48: what the hash of a state must not be.
type summed struct{ txlog.State }

func newSummed() txlog.State { return summed{kv.New()} }

const summedMask = 1<<48 - 1

func summedItem(key string, value int) uint64 {
	h := sha256.Sum256(fmt.Append(nil, key, "=", value))
	return binary.LittleEndian.Uint64(h[:]) & summedMask
}

func (s summed) Hash() (h txlog.Hash) {
	sum := uint64(0)
	for key, value := range valuesOf(s.View()) {
		sum += summedItem(key, value)
	}
	binary.LittleEndian.PutUint64(h[:], sum&summedMask)
	return h
}

func valuesOf(v txlog.View) map[string]int {
	text, err := txlog.Ask(v, []byte(`{"prefix":""}`))
	var list kv.List
	if err != nil || json.Unmarshal(text, &list) != nil {
		return nil
	}
	out := map[string]int{}
	for _, e := range list.Entries {
		var value int
		_ = json.Unmarshal(e.Value, &value)
		out[e.Key] = value
	}
	return out
}

// partial is a sum of junk, and which it is.
type partial struct {
	sum  uint64
	keys []string
}

// junk returns eight keys that sum up to want, each with the value 1: Wagner's tree over eight lists. The sums of each floor have
// twelve more bits that are zero.
func junk(t *testing.T, want uint64) []string {
	t.Helper()
	lists := make([][]partial, 8)
	for l := range lists {
		for n := range 1 << 13 { // twice as many as are needed on average
			key := fmt.Sprint("junk/", l, "/", n)
			lists[l] = append(lists[l], partial{summedItem(key, 1), []string{key}})
		}
	}
	for p := range lists[0] {
		lists[0][p].sum -= want
	}
	for _, mask := range []uint64{1<<12 - 1, 1<<24 - 1, summedMask} {
		for l := range len(lists) / 2 {
			lists[l] = merged(lists[2*l], lists[2*l+1], mask)
		}
		lists = lists[:len(lists)/2]
	}
	if len(lists[0]) == 0 {
		t.Fatal("the tree has no fruit")
	}
	return lists[0][0].keys
}

// merged returns the sums of one of each whose bits of the mask are zero.
func merged(left, right []partial, mask uint64) (out []partial) {
	found := map[uint64][]partial{}
	for _, r := range right {
		found[-r.sum&mask] = append(found[-r.sum&mask], r)
	}
	for _, l := range left {
		for _, r := range found[l.sum&mask] {
			out = append(out, partial{l.sum + r.sum, slices.Concat(l.keys, r.keys)})
		}
	}
	return out
}

// stateOf returns the bytes of a store with these values.
func stateOf(t *testing.T, values map[string]int) []byte {
	t.Helper()
	s := kv.New()
	for key, value := range values {
		o := txlog.Run(s, fmt.Appendf(nil, `{"op":"put","key":%q,"value":%d}`, key, value))
		if err := s.Apply(o.Diff); err != nil {
			t.Fatal(err)
		}
	}
	return s.Snapshot()
}

// forged returns a snapshot in which a key is missing, and junk makes up for it.
func forged(t *testing.T, snapshot []byte, key string) []byte {
	t.Helper()
	c, err := txlog.Restore(snapshot, newSummed)
	if err != nil { // of a log with the hash that a log has
		if c, err = txlog.Restore(snapshot, kv.New); err != nil {
			t.Fatal(err)
		}
	}
	v, err := c.View()
	if err != nil {
		t.Fatal(err)
	}
	values := valuesOf(v)
	honest := stateOf(t, values)
	head, is := bytes.CutSuffix(snapshot, honest)
	if !is {
		t.Fatal("the snapshot does not end with the state")
	}
	was := values[key]
	delete(values, key)
	for _, key := range junk(t, summedItem(key, was)) {
		values[key] = 1
	}
	head = head[:len(head)-len(binary.AppendUvarint(nil, uint64(len(honest))))]
	state := stateOf(t, values)
	return append(binary.AppendUvarint(bytes.Clone(head), uint64(len(state))), state...)
}

// A guest serves a newcomer a state of its own making, below a head that a member has signed. Whatever may submit goals, as a guest
// may, chooses what is in the state. Where the hash is a sum of hashes the newcomer takes the forged copy, in
// which a revocation is gone, and calls it equal; with the hash of a log no byte of it counts, and the newcomer goes on with an
// honest copy (B15, V7).
func TestAForgedSnapshot(t *testing.T) { //nolint:tparallel // bubble makes each subtest parallel
	for _, c := range []struct {
		name  string
		state func() txlog.State
		taken bool
	}{{"a sum of hashes", newSummed, true}, {"the hash of a log", kv.New, false}} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, 3, 2, func(t *testing.T, s *site) {
				for _, n := range s.nodes {
					n.kill()
					n.with = func(cfg *quorum.Config) { cfg.New = c.state }
					n.start()
				}
				guest, late := s.nodes[3], s.nodes[4]
				late.kill()
				if _, err := s.nodes[0].put("revoke", "revoked/bob", 1); err != nil {
					t.Fatal(err)
				}
				head, snapshot := s.kept(guest)
				defer s.forge(guest.name, head, forged(t, snapshot, "revoked/bob"))()
				for _, m := range s.nodes[:3] {
					s.net.Cut(m.name, late.name)
					s.net.Cut(late.name, m.name)
				}
				late.store = store.NewMemory(55, s.genesis)
				late.start()
				pass(5 * time.Second)
				if err := late.run.Load().Heard(head.Encode(), guest.name); err != nil {
					t.Fatal(err)
				}
				if c.taken {
					s.within(time.Minute, "the forged copy is taken, or this test cannot fail", func() bool { return late.run.Load().Position().Index == head.Index })
					if text, _, err := late.run.Load().Query(t.Context(), []byte(`{"get":"revoked/bob"}`)); err != nil || bytes.Contains(text, []byte("1")) {
						t.Errorf("the forged copy has %s, %v", text, err)
					}
					return
				}
				pass(time.Minute)
				if at := late.run.Load().Position(); at.Index != 0 {
					t.Fatalf("it has taken a forged copy, and is at %d", at.Index)
				}
				refused := func(e quorum.Event) bool {
					r, is := e.(quorum.Refused)
					return is && r.From == guest.name && errors.Is(r.Why, txlog.ErrState)
				}
				if !late.told(refused) {
					t.Error("nothing was offered, so this test cannot fail")
				}
				s.net.Heal()
				s.within(time.Minute, "it has an honest copy", func() bool { return late.run.Load().Position().Index >= head.Index })
				if text, _, err := late.run.Load().Query(t.Context(), []byte(`{"get":"revoked/bob"}`)); err != nil || !bytes.Contains(text, []byte("1")) {
					t.Errorf("its copy has %s, %v", text, err)
				}
			})
		})
	}
}

// kept lets the log go on until a node keeps a snapshot, and returns it with a head that covers it.
func (s *site) kept(n *node) (txlog.Head, []byte) {
	s.t.Helper()
	for {
		s.fill(1)
		pass(round)
		all := n.store.View().Kept
		if len(all) == 0 {
			continue
		}
		k := all[len(all)-1]
		head, found, err := n.store.Head(k.At.Index, k.At.Index)
		if err != nil {
			s.t.Fatal(err)
		}
		if !found {
			continue
		}
		snapshot, err := n.store.Piece(k.At.Index, 0, k.Size)
		if err != nil {
			s.t.Fatal(err)
		}
		return head, snapshot
	}
}

// forge has a node that takes another one's place offer a snapshot to all that ask it, until end is called.
func (s *site) forge(name string, head txlog.Head, snapshot []byte) (end func()) {
	r, offer, done := s.raw(name), follower.SumPieces(head, snapshot), make(chan struct{})
	go func() {
		for {
			select {
			case e := <-r.line.Inbox():
				r.offers(e, head, &offer, snapshot)
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

func (r *raw) offers(e transport.Envelope, head txlog.Head, offer *follower.Offer, snapshot []byte) {
	m, err := wire.Decode(e.Body)
	if err != nil {
		return
	}
	switch m := m.Body.(type) {
	case follower.Pull:
		r.say(e.From, follower.History{Serial: m.Serial, Heads: []txlog.Head{head}, Offer: offer})
	case follower.Want:
		part := snapshot[min(m.Piece*follower.PieceSize, uint64(len(snapshot))):]
		r.say(e.From, follower.Piece{Want: m, Bytes: part[:min(follower.PieceSize, len(part))]})
	}
}
