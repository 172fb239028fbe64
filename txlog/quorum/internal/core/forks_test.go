package core

import (
	"fmt"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/limits"
	"github.com/conchhq/conch/txlog/store"
)

// A member whose key has leaked signs pairs of heads at more indices than a store has room for: each is told, the first ones are
// kept, and the log goes on.
func TestForksAreBounded(t *testing.T) {
	t.Parallel()
	l := newLone(t)
	s := l.disk
	write := func() {
		t.Helper()
		for _, w := range l.core.out.Writes {
			if err := w.To(s); err != nil {
				t.Fatal(err)
			}
		}
		l.core.out.Writes = nil
		l.core.written()
	}
	head := func(index uint64, state byte) txlog.Head {
		at := txlog.Position{Log: l.log, Index: index}
		return txlog.Head{Position: at, State: txlog.Hash{state}, Member: "n1"}.Sign(l.key)
	}
	const many = limits.MostValues/2 + 1
	for index := range uint64(many) {
		if index == 5 { // there is room, and one at this index
			l.core.follow(follower.Evidence{A: head(3, 1), B: head(3, 3), Index: 3})
		}
		l.core.follow(follower.Evidence{A: head(index+1, 1), B: head(index+1, 2), Index: index + 1})
		write()
	}
	told := 0
	for _, a := range l.core.out.Acts {
		if tell, is := a.(Tell); is {
			if _, is := tell.Event.(Forked); is {
				told++
			}
		}
	}
	if n := len(s.Names(forkValue)); n != 2*mostForks || told != many+1 {
		t.Errorf("%d values of forks are kept, and %d forks are told", n, told)
	}
	kept, err := Evidence(s)
	if err != nil || len(kept) != mostForks || len(kept[2]) != 2 || kept[2][0].State != (txlog.Hash{1}) || kept[2][1].State != (txlog.Hash{2}) {
		t.Errorf("of a second fork at an index that has one: %v, %v", kept[2], err)
	}
	l.core.follow(follower.KeepBridge{Bridge: follower.Bridge{Records: []txlog.Record{aRecord(t, l)}, Head: head(1, 1)}})
	write()
	if bridges, err := loadBridges(s); err != nil || len(bridges) != 1 {
		t.Errorf("%d bridges are kept, %v", len(bridges), err)
	}
}

// Denied heads are kept as evidence, the first ones of each member: one that lies signs as many as it likes.
func TestDeniedHeadsAreKept(t *testing.T) {
	t.Parallel()
	l := newLone(t)
	s := l.disk
	has := func(member string) (all []uint64) {
		for _, w := range l.core.out.Writes {
			if err := w.To(s); err != nil {
				t.Fatal(err)
			}
		}
		l.core.out.Writes = nil
		kept, err := Evidence(s)
		for _, p := range kept {
			lie := p[0]
			if err != nil || len(lie.Signature) == 0 || len(p) != 1 {
				t.Errorf("%+v is kept, %v", p, err)
			}
			if lie.Member == member {
				all = append(all, lie.Index)
			}
		}
		return all
	}
	lie := func(member string, index uint64, state byte) txlog.Head {
		return txlog.Head{Position: txlog.Position{Log: l.log, Index: index}, State: txlog.Hash{state}, Member: member}.Sign(l.key)
	}
	for index := range uint64(2 * mostDenied) {
		l.core.follow(follower.Doubted{Doubt: follower.Doubt{Head: lie("n1", index+1, 1), Count: index + 1}})
	}
	for _, state := range []byte{1, 2} {
		l.core.follow(follower.Doubted{Doubt: follower.Doubt{Head: lie("n1/x", 1, state), Count: uint64(state)}})
	}
	if all := has("n1"); len(all) != mostDenied || all[0] != 1 || all[mostDenied-1] != mostDenied {
		t.Errorf("of n1 %v are kept", all)
	}
	if all := has("n1/x"); len(all) != 2 {
		t.Errorf("of n1/x %v are kept", all)
	}
	// One that the store's record has come to is evidence of nothing.
	record := aRecord(t, l)
	true1 := txlog.Head{Position: record.Position(), State: record.State, Member: "n2"}.Sign(l.key)
	l.core.follow(follower.Doubted{Doubt: follower.Doubt{Head: true1, Count: 1}})
	if all := has("n2"); len(all) != 1 {
		t.Errorf("of n2 %v are kept", all)
	}
	if err := s.Write(store.Step{Records: []txlog.Record{record}}); err != nil {
		t.Fatal(err)
	}
	if all := has("n2"); len(all) != 0 {
		t.Errorf("of n2 %v are kept, which are true", all)
	}
	for i := range mostDeniedInAll {
		l.core.follow(follower.Doubted{Doubt: follower.Doubt{Head: lie(fmt.Sprint("other", i), 1, 1), Count: 1}})
	}
	if has(""); len(s.Names(deniedValue)) != mostDeniedInAll {
		t.Errorf("in all %d are kept", len(s.Names(deniedValue)))
	}
}

// A node that has begun anew has forgotten the head that covers its copy: the one of its store is kept with the other one. If there is none
// either, the pair would show nothing.
func TestAForkWithoutAHead(t *testing.T) {
	t.Parallel()
	l := newLone(t)
	s := l.disk
	record := aRecord(t, l)
	own := txlog.Head{Position: record.Position(), State: record.State, Member: "n1"}.Sign(l.key)
	other := own
	other.State = txlog.Hash{1}
	fork := Write{Fork: &follower.Evidence{B: other.Sign(l.key), Index: 1}}
	for _, step := range []store.Step{{Records: []txlog.Record{record}}, {Heads: []txlog.Head{own}}} {
		if err := s.Write(step); err != nil {
			t.Fatal(err)
		}
		if err := fork.To(s); err != nil {
			t.Fatal(err)
		}
		names := s.Names(forkValue)
		if len(step.Heads) == 0 && len(names) > 0 {
			t.Errorf("without a head of its own %v is kept", names)
		}
		if a, err := txlog.DecodeHead(s.Value(forkName(1) + "a")); len(step.Heads) > 0 && (err != nil || a.Hash != own.Hash) {
			t.Errorf("its own head is kept as %+v, %v", a, err)
		}
	}
}

// When the members have changed so often that there is no room for one more bridge, a node keeps none: it goes on, with room for what it has
// promised.
func TestBridgesHaveABound(t *testing.T) {
	t.Parallel()
	l := newLone(t)
	s := l.disk
	full := map[string][]byte{}
	for i := range limits.MostValues - spare - len(s.Names("")) {
		full[fmt.Sprintf("%s%020d/%04d", bridgeValue, i+2, 0)] = []byte{more}
	}
	if err := s.Write(store.Step{Values: full}); err != nil {
		t.Fatal(err)
	}
	record := aRecord(t, l)
	head := txlog.Head{Position: record.Position(), Member: "n1"}.Sign(l.key)
	if err := (Write{Bridge: &follower.Bridge{Records: []txlog.Record{record}, Head: head}}).To(s); err != nil {
		t.Fatalf("a node ends: %v", err)
	}
	if n := len(s.Names(bridgeValue)); n != len(full) {
		t.Errorf("%d values of bridges are kept, of %d", n, len(full))
	}
}

func aRecord(t *testing.T, l *lone) txlog.Record {
	t.Helper()
	r, err := txlog.Seal(txlog.Entry{Log: l.log, Index: 1, Term: 1, Prev: l.log, Kind: txlog.Changed, Leader: "n1", Members: l.core.members})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
