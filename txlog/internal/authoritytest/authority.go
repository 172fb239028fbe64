package authoritytest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// Room is one log with three members, a, b and c, whose authorities are under test. Each member runs from its first Start.
// The suite calls a room from one goroutine.
type Room interface { //nolint:interfacebloat // the suite needs all of them of every authority
	// Start starts a member, also again after Crash, and returns its authority with what its user finds in the node's store:
	// from then on facts are told.
	Start(name string) (a authority.Authority, records []txlog.Record, committed uint64)
	// Crash ends a member without a word.
	Crash(name string)
	// Lead does what makes a running member lead in a new term here, and returns when it has asked: it campaigns, or an
	// election says so. The suite asks again if nothing comes of it.
	Lead(name string)
	// Part cuts members off from the others, or from what says which entry comes next. They go on, and nobody tells them. Without
	// names the cut ends.
	Part(names ...string)
	// Facts lets a moment pass, and returns what a member was told since it was last called.
	Facts(name string) []authority.Fact
}

// Names are the members of a Room.
var Names = []string{"a", "b", "c"}

// Genesis returns a log with the members of a Room.
func Genesis(namespace string) txlog.Genesis {
	g := txlog.Genesis{Namespace: namespace, Machine: "test/1"}
	for i, name := range Names {
		g.Members = append(g.Members, txlog.Member{Name: name, Store: uint64(i) + 1})
	}
	return g.With()
}

// Exercise is the suite that every authority must pass. It opens a room of its own for each test, with the
// genesis that it is given.
func Exercise(t *testing.T, open func(*testing.T, txlog.Genesis) Room) {
	t.Helper()
	for name, test := range map[string]func(*stage){
		"a leader appends and all store": appends, "what follows is stored in order": inOrder, "an old term appends nothing": oldTerm,
		"a leader that is cut off": cutOff, "a crash of the leader": leaderCrashes, "a crash of a follower": followerCrashes,
		"reads": reads, "leadership goes round": goesRound, "nobody asks": nobodyAsks, "anything": anything,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newStage(t, open))
		})
	}
}

// patience is for a busy machine.
const patience = 2 * time.Minute

// stage is a room in which a test plays the members' users.
type stage struct {
	t      *testing.T
	room   Room
	log    txlog.ID
	judge  *Judge
	actors map[string]authority.Authority
	ahead  map[string][]txlog.Record // what a leader has, with what it has appended in its term
	reads  uint64
	told   []string // everything, for a test that fails
}

func newStage(t *testing.T, open func(*testing.T, txlog.Genesis) Room) *stage {
	g := Genesis("exercise")
	s := &stage{t: t, log: g.ID(), judge: NewJudge(g.ID()), actors: map[string]authority.Authority{}, ahead: map[string][]txlog.Record{}}
	t.Cleanup(func() {
		if t.Failed() {
			for _, line := range s.told {
				t.Log(line)
			}
		}
	})
	s.room = open(t, g)
	for _, name := range Names {
		s.start(name)
	}
	return s
}

func (s *stage) note(format string, args ...any) {
	s.told = append(s.told, fmt.Sprintf(format, args...))
}

func (s *stage) start(name string) {
	s.t.Helper()
	a, records, committed := s.room.Start(name)
	s.note("%s starts with %d entries, %d of them committed", name, len(records), committed)
	if err := s.judge.Began(name, records, committed); err != nil {
		s.t.Fatal(err)
	}
	s.actors[name] = a
}

func (s *stage) crash(name string) {
	s.t.Helper()
	s.hear()
	s.note("%s crashes", name)
	s.room.Crash(name)
	delete(s.actors, name)
}

func (s *stage) part(names ...string) {
	s.note("parted: %v", names)
	s.room.Part(names...)
}

// hear takes what everybody was told.
func (s *stage) hear() {
	s.t.Helper()
	for _, name := range Names {
		if s.actors[name] == nil {
			continue
		}
		for _, f := range s.room.Facts(name) {
			s.note("%s: %T%+v", name, f, brief(f))
			if err := s.judge.Hear(name, f); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// brief is a fact without the content of its records.
func brief(f authority.Fact) any {
	stored, ok := f.(authority.Stored)
	if !ok {
		return f
	}
	var all []string
	for _, r := range stored.Records {
		all = append(all, fmt.Sprintf("%d in term %d %s %s", r.Index, r.Term, r.Kind, r.Hash().Short()))
	}
	return all
}

// until hears what is told until a condition holds.
func (s *stage) until(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); ; {
		s.hear()
		if is() {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// lead makes a member lead, and its user appends the term's opening.
func (s *stage) lead(name string) (term uint64) {
	s.t.Helper()
	h, before := s.judge.Of(name), s.judge.Of(name).Term
	asked, again := time.Time{}, time.Second // on a busy machine it takes a while, and each further try begins anew
	s.until(name+" leads", func() bool {
		if h.Leads && h.Term > before {
			s.ahead[name] = nil
			return true
		}
		if time.Since(asked) > again {
			asked, again = time.Now(), 2*again
			s.note("%s is to lead", name)
			s.room.Lead(name)
		}
		return false
	})
	s.append(name, txlog.Entry{Kind: txlog.Opening})
	return h.Term
}

// next makes the record that a user would append after what it has.
func (s *stage) next(name string, e txlog.Entry, after []txlog.Record) txlog.Record {
	s.t.Helper()
	e.Log, e.Index, e.Prev, e.Leader = s.log, uint64(len(after))+1, s.log, name
	if e.Term == 0 {
		e.Term = s.judge.Of(name).Term
	}
	if len(after) > 0 {
		e.Prev = after[len(after)-1].Hash()
	}
	r, err := txlog.Seal(e)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// append appends entries, each after the one before.
func (s *stage) append(name string, entries ...txlog.Entry) (records []txlog.Record) {
	s.t.Helper()
	h := s.judge.Of(name)
	after := h.Records
	if ahead := s.ahead[name]; h.Leads && last(ahead).Term == h.Term {
		after = ahead
	}
	for _, e := range entries {
		r := s.next(name, e, after)
		after, records = append(slices.Clip(after), r), append(records, r)
		if r.Term == h.Term {
			s.ahead[name] = after
		}
		s.note("%s appends %d in term %d: %s %s", name, r.Index, r.Term, r.Kind, r.Hash().Short())
		s.actors[name].Append(r)
	}
	return records
}

// goal is an entry with a goal.
func goal(id string) txlog.Entry {
	return txlog.Entry{Kind: txlog.Executed, GoalID: id, Goal: []byte(id), Diff: []byte("diff of " + id)}
}

// everybody reports whether all that run know that so many entries are committed.
func (s *stage) everybody(index uint64) func() bool {
	return func() bool {
		for name := range s.actors {
			if s.judge.Of(name).Committed < index {
				return false
			}
		}
		return true
	}
}

// all waits until all that run know a record to be committed.
func (s *stage) all(r txlog.Record) {
	s.t.Helper()
	s.until(fmt.Sprintf("everybody has entry %d", r.Index), s.everybody(r.Index))
	for name := range s.actors {
		if got := s.judge.Of(name).Records[r.Index-1]; got.Hash() != r.Hash() {
			s.t.Errorf("%s has another entry %d", name, r.Index)
		}
	}
}

// confirm asks up to where a read must come, and returns the answer.
func (s *stage) confirm(name string) {
	s.t.Helper()
	s.reads++
	s.note("%s asks for read %d", name, s.reads)
	s.judge.Asked(name, s.reads)
	s.actors[name].Confirm(s.reads)
}

// unanswered reports whether a read was not answered yet.
func (s *stage) unanswered(name string, read uint64) bool {
	_, is := s.judge.Of(name).reads[read]
	return is
}
