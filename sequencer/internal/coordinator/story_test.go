package coordinator

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/storytest"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

var update = flag.Bool("update", false, "rewrite the actions in the stories")

// P9 to P20, P24, P26, P32, P35 to P40, I4, I6, I9. In a story in testdata a line is an input, and the indented lines
// after it are the actions that it causes. The node is A; an attempt has a name, x, and x.0 is its first output.
func TestStories(t *testing.T) {
	t.Parallel()
	storytest.Run(t, *update, func(t *testing.T) func(string) []string {
		s := newStage(t)
		return s.tell
	})
}

// stage plays a machine, and answers its requests as a story says.
type stage struct {
	t        *testing.T
	m        *Machine
	now      time.Duration
	book     *fakeBook
	asked    map[string]wire.RequestID // by kind and member: the last request
	store    uint64
	reviewed []ledger.Entry  // what the last review was about
	speaker  ledger.Account  // of the message that is read
	forged   bool            // a signature in the next message is wrong
	as       *wire.RequestID // that the next message answers, whatever it is
	set      Config
	blocks   []ledger.Block
}

// fakeBook believes every attempt.
type fakeBook struct {
	wholes  map[ledger.Hash]wire.Whole
	unspent map[ledger.StateID]bool
	landed  map[ledger.Hash]bool
}

func (b *fakeBook) Hear(w wire.Whole) (ledger.Hash, error) {
	if string(w.Attempt.Data) == "bad" {
		return ledger.Hash{}, fmt.Errorf("it is bad")
	}
	h := named(string(w.Attempt.Data))
	b.wholes[h] = w
	return h, nil
}

// take does what an attempt does that has landed, or takes it back.
func (b *fakeBook) take(h ledger.Hash, landed bool) {
	b.landed[h] = landed
	w := b.wholes[h]
	for _, id := range w.Attempt.Inputs {
		b.unspent[id] = !landed
	}
	for i := range w.Outputs {
		b.unspent[plain{}.State(h, i)] = landed
	}
}

func (b *fakeBook) Whole(h ledger.Hash) (wire.Whole, bool)       { w, is := b.wholes[h]; return w, is }
func (b *fakeBook) Unspent(s ledger.StateID) bool                { return b.unspent[s] }
func (b *fakeBook) Decided(h ledger.Hash, _ ledger.Attempt) bool { return b.landed[h] }

// plain is a scheme in which hashes can be read.
type plain struct{ ledger.Plain }

func (plain) Assembled(_ ledger.Contract, a ledger.Attempt) ledger.Hash { return named(string(a.Data)) }
func (plain) State(h ledger.Hash, i int) ledger.StateID {
	return ledger.StateID(named(name(h) + "." + strconv.Itoa(i)))
}

func named(text string) (h ledger.Hash) { copy(h[:], text); return h }
func name(h ledger.Hash) string         { return strings.TrimRight(string(h[:]), "\x00") }

func sequence(text string) ledger.Sequence {
	n, _ := strconv.ParseUint(text, 10, 64)
	return ledger.Sequence{Lineage: 1, Counter: n}
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, asked: map[string]wire.RequestID{}, book: &fakeBook{wholes: map[ledger.Hash]wire.Whole{}, unspent: map[ledger.StateID]bool{}, landed: map[ledger.Hash]bool{}}}
	members := []ledger.Account{"A", "B", "C", "D"}
	for i := range 9 {
		s.book.unspent[ledger.StateID(named("s"+strconv.Itoa(i)))] = true
	}
	committee, err := ranking.NewCommittee("k", []string{"A", "B", "C", "D"}, 10, alphabet{})
	if err != nil {
		t.Fatal(err)
	}
	s.set = Config{
		Self: "A", Incarnation: wire.Incarnation{1}, Book: s.book, Scheme: plain{}, Committee: &committee, Head: 2,
		Contract: &ledger.Contract{Address: "k", Members: members, Committee: members, Needed: 2, Range: 10, Depth: 2, Life: 20, Domain: "d"},
		Batch:    4,
	}
	if err := s.set.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

// alphabet names the committee's members in turn: range 0 begins with A, range 1 with B.
type alphabet struct{}

func (alphabet) Order(_ string, nodes []string, r ranking.Range) []string {
	n := int(r) % len(nodes)
	return slices.Concat(nodes[n:], nodes[:n])
}

func (s *stage) tell(line string) (done []string) {
	words := strings.Fields(line)
	if s.m == nil && !s.begins(words) {
		s.start()
	}
	switch words[0] {
	case "strict":
		s.set.Strict = true
		return nil
	case "aside": // at most so long
		s.set.LongestAside, _ = time.ParseDuration(words[1])
		return nil
	case "head":
		s.set.Head, _ = strconv.ParseUint(words[1], 10, 64)
		return nil
	case "heard": // of others, and not of what they have dispatched
		for _, w := range words[1:] {
			owner, w, _ := strings.Cut(w, "/")
			e := s.inherited(w)
			e.Attempt.Owner = ledger.Account(owner)
			_, _ = s.book.Hear(e.Whole)
		}
		return nil
	case "contents": // the book hears them late
		e := s.inherited(words[1])
		h, _ := s.book.Hear(e.Whole)
		s.book.take(h, s.book.landed[h])
		return nil
	case "forged":
		s.forged = true
		return nil
	case "status":
		st := s.m.Status()
		var who [2]string
		for i, list := range [][]ledger.Account{st.Aside, st.Forges} {
			for _, a := range list {
				who[i] += " " + string(a)
			}
		}
		return []string{fmt.Sprintf("aside:%s; sign wrongly:%s; ended %v", who[0], who[1], st.Ended)}
	case "as":
		id := s.asked[keyOf(kinds[words[2]], ledger.Account(words[1]))]
		if len(words) > 3 {
			id.Incarnation[0]++
		}
		s.as = &id
		return nil
	case "rows":
		for _, w := range words[1:] {
			noted := strings.HasSuffix(w, "!")
			owner, w, _ := strings.Cut(strings.TrimSuffix(w, "!"), "/")
			e := s.inherited(w)
			e.Attempt.Owner = ledger.Account(owner)
			s.set.Rows = append(s.set.Rows, Row{e, noted})
		}
		return s.say(s.start())
	case "wait":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			s.t.Fatal(err)
		}
		for end := s.now + d; s.now < end; {
			s.now += min(50*time.Millisecond, end-s.now)
			done = append(done, s.say(s.m.Step(s.now, Tick{}))...)
		}
		return done
	}
	done = s.say(s.m.Step(s.now, s.input(words)))
	for _, f := range s.m.Faults() {
		s.t.Errorf("%s: the table calls it impossible: %s", line, f)
	}
	for _, f := range s.m.Audit() {
		s.t.Errorf("%s: %s", line, f)
	}
	return done
}

func (s *stage) begins(words []string) bool {
	return words[0] == "strict" || words[0] == "aside" || words[0] == "head" || words[0] == "rows"
}

func (s *stage) start() []Action {
	s.m = New(s.set)
	return s.m.Step(s.now, nil)
}

func (s *stage) input(words []string) Input {
	switch words[0] {
	case "stored": // the last rows, or those of a number
		if len(words) > 1 {
			n, _ := strconv.ParseUint(words[1], 10, 64)
			return Stored{n}
		}
		return Stored{s.store}
	case "drain", "undrain":
		return Drain{On: words[0] == "drain"}
	case "hear":
		return Heard{ledger.Account(words[1]), wire.Pulse{Works: len(words) > 2}}
	case "judged":
		var in Judged
		in.Number, _ = strconv.ParseUint(words[1], 10, 64)
		for _, w := range words[2:] {
			end := grants.Alive
			for end.String() != w {
				end++
			}
			in.Ends = append(in.Ends, end)
		}
		return in
	case "given-up":
		return GivenUp{}
	case "reviewed":
		return Reviewed{Failed: len(words) > 1 && words[1] == "fails", Lost: slices.DeleteFunc(slices.Clone(s.reviewed), func(e ledger.Entry) bool {
			return !slices.Contains(words[1:], string(e.Data))
		})}
	case "rewind":
		n, _ := strconv.ParseUint(words[1], 10, 64)
		for _, b := range slices.Backward(s.blocks) {
			for _, f := range b.Facts {
				if b.Number > n && f.Skipped == ledger.Taken {
					s.book.take(f.Assembled, false)
				}
			}
		}
		return ledger.Rewind{To: n}
	case "block":
		return s.block(words[1:])
	}
	from := ledger.Account(words[1])
	msg := wire.Message{Contract: "k", Request: wire.RequestID{Incarnation: wire.Incarnation{2}, Number: 1}}
	s.speaker = from
	var of wire.Kind
	msg.Body, of = s.body(words[0], words[2:])
	if of != 0 {
		msg.Request = s.asked[keyOf(of, from)]
	}
	if s.as != nil {
		msg.Request, s.as = *s.as, nil
	}
	in := Received{From: from, Message: msg, Forged: s.forged}
	s.forged = false
	return in
}

// keyOf names the last request of a kind to a member.
func keyOf(of wire.Kind, to ledger.Account) string { return fmt.Sprint(of, string(to)) }

func (s *stage) block(words []string) Input {
	n, _ := strconv.ParseUint(words[0], 10, 64)
	b := ledger.Block{Number: n}
	for _, w := range words[1:] {
		w, why, _ := strings.Cut(w, "=")
		f := ledger.Fact{Assembled: named(w)}
		if whole, is := s.book.wholes[f.Assembled]; is {
			f.Intent = whole.Attempt.Intent
		} else if owner, seq, is := strings.Cut(w, "/"); is { // another attempt of an intent
			f.Intent = ledger.Intent{Owner: ledger.Account(owner), Sequence: sequence(seq)}
		}
		if f.Skipped = reason(why); f.Skipped == ledger.Taken {
			s.book.take(f.Assembled, true)
		}
		b.Facts = append(b.Facts, f)
	}
	s.blocks = append(s.blocks, b)
	return b
}

// reason reads why the ledger skipped an entry, with lines for spaces.
func reason(word string) (r ledger.Reason) {
	for word != "" && r.String() != strings.ReplaceAll(word, "-", " ") {
		r++
	}
	return r
}

// inherited reads name:inputs:outputs:until. It is granted to the speaker, or to @another, and endorsed by as many as are needed, or
// by +many.
func (s *stage) inherited(text string) wire.Dispatch {
	text, many, others := strings.Cut(text, "+")
	text, to, another := strings.Cut(text, "@")
	parts := append(strings.Split(text, ":"), "", "", "")
	var e wire.Dispatch
	seq, name, _ := strings.Cut(parts[0], "=")
	e.Attempt.Data, e.Attempt.Sequence = []byte(name), sequence(seq)
	for i, list := range strings.Split(parts[1], "|") {
		for id := range strings.SplitSeq(list, ",") {
			if id == "" {
				continue
			}
			if state := ledger.StateID(named(id)); i == 0 {
				e.Attempt.Inputs = append(e.Attempt.Inputs, state)
			} else {
				e.Attempt.Reads = append(e.Attempt.Reads, state)
			}
		}
	}
	n, _ := strconv.Atoi(parts[2])
	e.Outputs = make([]domain.Secret, n)
	e.Attempt.Outputs = make([]ledger.Hash, n)
	e.Grant = ledger.Grant{Assembled: named(name), Coordinator: s.speaker}
	e.Grant.ValidUntil, _ = strconv.ParseUint(parts[3], 10, 64)
	e.Endorsements = make([]ledger.Endorsement, s.set.Contract.Needed)
	if another {
		e.Grant.Coordinator = ledger.Account(to)
	}
	if others {
		n, _ := strconv.Atoi(many)
		e.Endorsements = make([]ledger.Endorsement, n)
	}
	return e
}
