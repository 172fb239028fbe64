package member

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/storytest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

var update = flag.Bool("update", false, "rewrite the actions in the stories")

// In a story in testdata a line is an input, and the indented lines after it are the actions that it causes. The member
// is b, of a, b and c. A disk stands for the authority's: what a leader sends is looked at, then stored there.
func TestStories(t *testing.T) {
	t.Parallel()
	storytest.Run(t, *update, func(t *testing.T) func(string) []string {
		s := newStory(t)
		return func(line string) []string { return s.tell(strings.Fields(line)) }
	})
}

func genesis() txlog.Genesis {
	g := txlog.Genesis{Namespace: "site", Machine: "notes/1", Scrub: 1000}.With()
	for i, name := range []string{"a", "b", "c"} {
		g.Members = append(g.Members, txlog.Member{Name: name, Store: uint64(i + 1), Key: txlog.Hash{byte(i + 1)}})
	}
	return g
}

// story is a machine with what its disk has.
type story struct {
	t         testing.TB
	now       time.Duration
	cfg       Config
	genesis   txlog.Genesis
	m         *Machine
	disk      []txlog.Record // from index 1
	onTheWay  []txlog.Record // what this member has appended
	committed uint64
	ticket    uint64
	states    []*notes // that the machine has made
	tickets   map[uint64]string
	queries   map[uint64]string
}

func newStory(t testing.TB) *story {
	return &story{t: t, now: 5 * time.Hour, genesis: genesis(), tickets: map[uint64]string{}, queries: map[uint64]string{}}
}

func (s *story) machine() *Machine {
	if s.m == nil {
		s.cfg.Self = "b"
		s.cfg.New = func() txlog.State {
			n := newNotes().(*notes)
			s.states = append(s.states, n)
			return n
		}
		s.cfg.Base = s.restored(0)
		if err := s.cfg.Validate(); err != nil {
			s.t.Fatal(err)
		}
		s.m = New(s.cfg)
	}
	return s.m
}

// copyAt returns a copy of what the disk has up to an index, as an honest memory has it.
func (s *story) copyAt(index uint64) *txlog.Copy {
	c := txlog.NewCopy(s.genesis, newNotes)
	for _, r := range s.disk[:index] {
		if err := c.Apply(r); err != nil {
			s.t.Fatal(err)
		}
	}
	return c
}

// restored returns such a copy whose states are the machine's.
func (s *story) restored(index uint64) *txlog.Copy {
	c, err := txlog.Restore(s.copyAt(index).Snapshot(), s.cfg.New)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *story) step(in Input) (done []string) {
	for _, a := range s.machine().Step(s.now, in) {
		if a, is := a.(Append); is {
			s.onTheWay = append(s.onTheWay, a.Record)
		}
		done = append(done, s.say(a))
	}
	return done
}

func (s *story) number(word string) uint64 {
	n, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *story) hear(f authority.Fact) []string { return s.step(Heard{Fact: f}) }

func (s *story) tell(words []string) (done []string) {
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	switch words[0] {
	case "with":
		return s.with(words[1:])
	case "wait": // milliseconds, in ticks of 50
		for end := s.now + time.Duration(s.number(words[1]))*time.Millisecond; s.now < end; {
			s.now += 50 * time.Millisecond
			done = append(done, s.step(Tick{At: int64(s.now / time.Millisecond)})...)
		}
		return done
	case "suggested":
		return s.step(Suggested{Name: words[1]})
	case "leads":
		return s.hear(authority.Leads{Term: s.number(words[1])})
	case "deposed":
		s.onTheWay = nil
		return s.hear(authority.Deposed{Term: s.number(words[1]), Leader: arg(2)})
	case "stored": // of what this member has appended: so many, or all
		n := len(s.onTheWay)
		if arg(1) != "" {
			n = int(s.number(words[1]))
		}
		records := s.onTheWay[:n]
		s.onTheWay = s.onTheWay[n:]
		s.disk = append(s.disk, records...)
		return s.hear(authority.Stored{Records: records})
	case "sent": // by another leader: sent TERM [from=INDEX] [wrong|foreign] [unseen|untold] KIND …
		return s.sent(words[1:])
	case "commit":
		s.committed = uint64(len(s.disk))
		if arg(1) != "" {
			s.committed = s.number(words[1])
		}
		return s.hear(authority.Committed{Index: s.committed})
	case "confirmed":
		return s.hear(authority.Confirmed{Read: s.number(words[1]), Index: s.number(words[2])})
	case "refused":
		return s.hear(authority.Refused{Member: words[1], Index: s.number(words[2])})
	case "rebuilt": // from the disk: what is committed, or up to an index, and the tail
		s.machine()
		s.states = nil
		at := s.committed
		if arg(1) != "" {
			at = s.number(words[1])
		}
		return s.step(Rebuilt{Base: s.restored(at), Tail: s.disk[at:]})
	case "fetched": // what others have: this member's copy is made from it
		for range s.number(words[1]) {
			s.make(txlog.Entry{Kind: txlog.Executed, Term: s.number(words[2]), GoalID: fmt.Sprint("f", len(s.disk)+1), Goal: []byte("add f 1")}, uint64(len(s.disk)+1), "")
		}
		s.committed = uint64(len(s.disk))
		s.machine()
		return s.step(Rebuilt{Base: s.restored(s.committed)})
	case "flip": // this member's memory loses a value
		for _, n := range s.states {
			n.flip(words[1])
		}
		return nil
	case "door":
		return s.step(Door{Open: words[1] == "open"})
	case "done":
		return s.step(Done{Key: txlog.Key{Index: s.number(words[1]), N: s.number(words[2])}})
	case "ended":
		return s.step(Ended{Key: txlog.Key{Index: s.number(words[1]), N: s.number(words[2])}})
	case "gone":
		for ticket, name := range s.tickets {
			if name == words[1] {
				done = append(done, s.step(Gone{Ticket: ticket})...)
			}
		}
		return done
	case "dropped":
		s.disk = s.disk[:s.number(words[1])-1]
		return s.hear(authority.Dropped{From: s.number(words[1])})
	case "query":
		result, at, err := s.machine().query([]byte(words[1]))
		return []string{fmt.Sprintf("%s, as of %d (error %v)", result, at.Index, err)}
	case "status":
		return s.status()
	}
	return s.asks(words)
}

// asks reads "goal NAME ID [since=N] TEXT", "read NAME QUERY" and "members NAME [since=N] A B C" as what NAME asks for. Without since
// it has seen the members that are there.
func (s *story) asks(words []string) []string {
	s.ticket++
	s.tickets[s.ticket] = words[1]
	switch words[0] {
	case "goal":
		in := Execute{Ticket: s.ticket, Goal: txlog.Goal{ID: words[2]}}
		words = words[3:]
		if len(words) > 0 {
			if n, is := strings.CutPrefix(words[0], "since="); is {
				in.Since, words = s.number(n), words[1:]
			}
		}
		in.Body = []byte(strings.Join(words, " "))
		return s.step(in)
	case "read":
		s.queries[s.ticket] = strings.Join(words[2:], " ")
		return s.step(Read{Ticket: s.ticket})
	case "members":
		in := Change{Ticket: s.ticket, Since: s.machine().Status().Position.Index}
		words = words[2:]
		if n, is := strings.CutPrefix(words[0], "since="); is {
			in.Since, words = s.number(n), words[1:]
		}
		in.Members = members(words)
		return s.step(in)
	}
	s.t.Fatalf("no such line: %s", strings.Join(words, " "))
	return nil
}

func members(names []string) (all []txlog.Member) {
	for _, name := range names {
		all = append(all, txlog.Member{Name: name, Store: uint64(name[0] - 'a' + 1), Key: txlog.Hash{name[0] - 'a' + 1}})
	}
	return all
}

func (s *story) with(words []string) []string {
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		n, _ := strconv.ParseUint(value, 10, 64)
		switch key {
		case storytest.Break:
		case "waiting":
			s.cfg.MostWaiting = int(n)
		case "flight":
			s.cfg.mostInFlight = int(n)
		case "bytes":
			s.cfg.mostTail = int(n)
		case "scrub":
			s.genesis.Scrub = n
		case "retention":
			s.genesis.Retention = n
		case "snapshot":
			s.cfg.SnapshotEvery = n
		default:
			s.t.Fatalf("no such setting: %s", word)
		}
	}
	return nil
}

// sent makes what another leader makes, has the member look at it, and stores it. An entry that is unseen was not looked at, and of one
// that is untold the member does not hear either: by an authority that errs.
func (s *story) sent(words []string) (done []string) {
	e := txlog.Entry{Term: s.number(words[0]), Leader: "a"}
	from, wrong, unseen := uint64(len(s.disk)+1), "", ""
	words = words[1:]
	for {
		if n, is := strings.CutPrefix(words[0], "from="); is {
			from = s.number(n)
		} else if words[0] == "wrong" || words[0] == "foreign" {
			wrong = words[0]
		} else if words[0] == "unseen" || words[0] == "untold" {
			unseen = words[0]
		} else {
			break
		}
		words = words[1:]
	}
	switch words[0] {
	case "opening":
		e.Kind = txlog.Opening
	case "scrub":
		e.Kind = txlog.Scrubbed
	case "members":
		e.Kind, e.Members = txlog.Changed, members(words[1:])
	case "goal":
		e.Kind, e.GoalID, e.Goal = txlog.Executed, words[1], []byte(strings.Join(words[2:], " "))
	}
	kept := s.disk
	r := s.make(e, from, wrong)
	if unseen == "untold" {
		return nil
	}
	if err := s.machine().Look([]txlog.Record{r}); err != nil && unseen == "" {
		s.disk = kept
		return []string{"does not store it: " + err.Error()}
	}
	return s.hear(authority.Stored{Records: []txlog.Record{r}})
}

// make puts an entry of another leader on the disk. By a wrong memory its state comes out otherwise, and a foreign diff names
// what only that leader has.
func (s *story) make(e txlog.Entry, from uint64, wrong string) txlog.Record {
	c := s.copyAt(from - 1)
	if e.Leader = "a"; e.Kind == txlog.Executed {
		o := c.Execute(e.Goal)
		e.Result, e.Fault, e.Diff, e.Effects = o.Result, o.Fault, o.Diff, o.Effects
	}
	r, err := c.Next(e)
	if err == nil && wrong != "" {
		e = r.Entry
		if e.State[0]++; wrong == "foreign" {
			e.Diff = []byte("x 77 78")
		}
		r, err = txlog.Seal(e)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.disk = append(s.disk[:from-1:from-1], r)
	return r
}
