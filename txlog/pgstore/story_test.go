package pgstore

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/storytest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

var update = flag.Bool("update", false, "write what the machine does into the stories")

func TestStories(t *testing.T) {
	t.Parallel()
	storytest.Run(t, *update, func(t *testing.T) func(string) []string {
		return (&script{t: t, m: newMachine(txlog.Genesis{}.Start(), time.Second), records: map[string]txlog.Record{}}).tell
	})
}

// script feeds a machine the lines of a story. A record is called by its index and term, 3:2, and another one of these by
// one more letter, 3:2x. It follows the record before it that was called last.
type script struct {
	t       *testing.T
	m       *machine
	now     time.Duration
	records map[string]txlog.Record
	chain   []txlog.Record // by index, the last one called
	reads   []uint64       // ids that were given out
	finds   []uint64
	writes  []uint64
}

var outcomes = map[string]error{
	"ok": nil, "stale": fence.ErrStale, "taken": ErrTaken, "scope": ErrScope, "damaged": ErrDamaged, "standby": ErrStandby,
	"lost": errors.New("the connection is lost"), "unconfirmed": &pg.UnconfirmedError{Warning: "the wait for the standby was given up"},
}

func (s *script) tell(line string) (done []string) {
	words := strings.Fields(line)
	var in input
	switch words[0] {
	case "lead": // lead TICKET EPOCH
		in = lead{Ticket: s.number(words[1]), Token: fence.Token{Scope: "s", Epoch: int64(s.number(words[2]))}}
	case "yield":
		in = yield{Ticket: s.number(words[1])}
	case "append":
		in = appended{Record: s.record(words[1])}
	case "confirm":
		in = asked{Read: s.number(words[1])}
	case "noticed":
		in = noticed{}
	case "got": // got [old] FAULT | got [old] NEWEST [without BEFORE | RECORD…]
		in = s.got(words[1:])
	case "found": // found [old] FAULT | NEWEST
		f := found{ID: pick(&words, s.finds)}
		if err, is := outcomes[words[1]]; is {
			f.Err = err
		} else {
			f.Newest = s.number(words[1])
		}
		in = f
	case "wrote": // wrote [old] FAULT
		in = wrote{ID: pick(&words, s.writes), Err: s.fault(words[1])}
	case "wait":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			s.t.Fatal(err)
		}
		s.now += d
		in = tick{}
	case "due":
		if at, is := s.m.Due(); is {
			return []string{"in " + (at - s.now).String()}
		}
		return []string{"never"}
	default:
		s.t.Fatalf("a story has no word %q", words[0])
	}
	for _, a := range s.m.Step(s.now, in) {
		done = append(done, s.say(a))
	}
	return done
}

// pick returns the newest id, or the one before if the second word is old, which it takes out.
func pick(words *[]string, ids []uint64) uint64 {
	if (*words)[1] == "old" {
		*words = slices.Delete(*words, 1, 2)
		return ids[len(ids)-2]
	}
	return ids[len(ids)-1]
}

func (s *script) got(words []string) input {
	all := append([]string{"got"}, words...)
	g := got{ID: pick(&all, s.reads)}
	words = all[1:]
	if err, is := outcomes[words[0]]; is && err != nil {
		g.Err = err
		return g
	}
	g.Newest = s.number(words[0])
	g.Before = s.m.at.Hash
	if s.m.at.Index == 0 {
		g.Before = txlog.Hash{}
	}
	for _, name := range words[1:] {
		if name == "otherwise" {
			g.Before = txlog.Hash{1}
			continue
		}
		g.Next = append(g.Next, s.record(name))
	}
	return g
}

func (s *script) fault(word string) error {
	err, is := outcomes[word]
	if !is {
		s.t.Fatalf("a story has no fault %q", word)
	}
	return err
}

func (s *script) number(word string) uint64 {
	n, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) record(name string) txlog.Record {
	index, rest, _ := strings.Cut(name, ":")
	i := s.number(index)
	r, is := s.records[name]
	if !is {
		term := strings.TrimRight(rest, "abcdefghijklmnopqrstuvwxyz")
		log := txlog.Genesis{}.ID()
		e := txlog.Entry{
			Log: log, Index: i, Term: s.number(term), Prev: log, Kind: txlog.Executed, Leader: "leader-" + term,
			GoalID: name,
		}
		if i > 1 {
			e.Prev = s.chain[i-2].Hash()
		}
		var err error
		if r, err = txlog.Seal(e); err != nil {
			s.t.Fatal(err)
		}
		s.records[name] = r
	}
	s.chain = append(s.chain[:i-1], r)
	return r
}

func names(records []txlog.Record) string {
	all := make([]string, len(records))
	for i, r := range records {
		all[i] = r.GoalID
	}
	return strings.Join(all, " ")
}

func (s *script) say(a action) string {
	switch a := a.(type) {
	case read:
		s.reads = append(s.reads, a.ID)
		if a.Fenced {
			return fmt.Sprintf("read after %d, fenced by epoch %d", a.After, a.Token.Epoch)
		}
		return fmt.Sprintf("read after %d", a.After)
	case find:
		s.finds = append(s.finds, a.ID)
		return "find"
	case write:
		s.writes = append(s.writes, a.ID)
		return fmt.Sprintf("write %s under epoch %d", names(a.Records), a.Token.Epoch)
	case tell:
		if stored, is := a.Fact.(authority.Stored); is {
			return "tell Stored " + names(stored.Records)
		}
		return fmt.Sprintf("tell %s%+v", strings.TrimPrefix(fmt.Sprintf("%T", a.Fact), "authority."), a.Fact)
	case ended:
		return fmt.Sprintf("leadership %d ended: %v", a.Ticket, a.Err)
	case troubled:
		return fmt.Sprintf("trouble: %v", a.Err)
	case stopped:
		return fmt.Sprintf("stopped: %v", a.Err)
	default:
		return fmt.Sprintf("%T", a)
	}
}
