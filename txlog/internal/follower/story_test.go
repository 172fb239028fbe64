package follower

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/storytest"
	"github.com/conchhq/conch/txlog"
)

var update = flag.Bool("update", false, "rewrite the actions in the stories")

// In a story in testdata a line is an input, and the indented lines after it are the actions that it causes. The first line
// may begin with "with". The members are anna, ben and cleo until entry 30, and dora, emil and fritz from entry 31
// on. The log of the word "fork" is another one from entry 20 on.
func TestStories(t *testing.T) {
	t.Parallel()
	storytest.Run(t, *update, func(t *testing.T) func(string) []string {
		return newStory(t).tell
	})
}

type story struct {
	t     *testing.T
	now   time.Duration
	m     *Machine
	cfg   Config
	at    uint64
	line  *line
	fork  *line
	board *board            // of the machine's copy
	asks  map[string][]Pull // by peer, which it has not answered
	want  map[string][]Want
	since time.Duration // it asked last how far the log is
}

func newStory(t *testing.T) *story {
	t.Helper()
	s := &story{t: t, now: 5 * time.Hour, at: 17, asks: map[string][]Pull{}, want: map[string][]Want{}} // clocks begin anywhere
	s.line = newLine(t, "anna", "ben", "cleo").goals(30, "goal").change("dora", "emil", "fritz").goals(60, "goal")
	s.fork = s.line.fork(19).goals(30, "fork")
	return s
}

func (s *story) machine() *Machine {
	if s.m == nil {
		c := s.cfg
		s.board = &board{}
		c.New, c.First = newBoard, max(c.First, 1)
		c.Self, c.breadth = cmp.Or(s.cfg.Self, "node"), cmp.Or(s.cfg.breadth, 1)
		if c.Head = s.line.head(s.at, "anna"); s.at > 31 {
			c.Head = s.line.head(s.at, "dora")
		}
		c.Base = s.line.copyWith(s.at, func() txlog.State { return s.board })
		if err := c.Validate(); err != nil {
			s.t.Fatal(err)
		}
		s.m = New(c)
	}
	return s.m
}

func (s *story) step(in Input) (done []string) {
	for _, a := range s.machine().Step(s.now, in) {
		done = append(done, s.say(a))
	}
	return done
}

// number is a number after a word such as "known=".
func number(words []string, name string) (n uint64) {
	for _, word := range words {
		if text, is := strings.CutPrefix(word, name+"="); is {
			n, _ = strconv.ParseUint(text, 10, 64)
		}
	}
	return n
}

func text(words []string, name, usual string) string {
	for _, word := range words {
		if text, is := strings.CutPrefix(word, name+"="); is {
			return text
		}
	}
	return usual
}

// span reads "18-25" and "18".
func (s *story) span(word string) (from, upto uint64) {
	s.t.Helper()
	a, b, is := strings.Cut(word, "-")
	from, err := strconv.ParseUint(a, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	if upto = from; is {
		upto, _ = strconv.ParseUint(b, 10, 64)
	}
	return from, upto
}

func (s *story) on(words []string) *line {
	if strings.Contains(strings.Join(words, " "), "fork") {
		return s.fork
	}
	return s.line
}

func (s *story) tell(text string) []string {
	words := strings.Fields(text)
	switch words[0] {
	case "with":
		s.with(words[1:])
		return nil
	case "peers":
		return s.step(Peers{Names: words[1:]})
	case "wait":
		return s.wait(words[1])
	case "head":
		return s.step(Heard{Head: s.head(words), Via: words[3]})
	case "answer":
		return s.answer(words[1], words[2:])
	case "ask":
		from, upto := s.span(words[2])
		return s.step(Asked{From: words[1], Pull: Pull{Serial: 7, From: from, Upto: upto, Known: number(words, "known"), Change: number(words, "change")}})
	case "applied":
		from, upto := s.span(words[1])
		return s.step(Applied{Records: s.on(words).from(from, upto)})
	case "piece", "wants":
		return s.piece(words)
	case "confirmed": // by the leader, to what it was asked last
		at, _ := s.span(words[1])
		return s.step(Confirmed{Since: s.since, Index: at})
	case "news":
		return s.step(News{})
	case "yield":
		return s.step(Yield{})
	case "follow": // with a copy that was made anew from the store
		return s.step(Follow{Base: s.line.copyAt(s.machine().at.Index)})
	case "behind":
		return s.step(Behind{Index: number(words, "index"), From: words[1]})
	case "spoil": // memory has changed a value
		s.machine()
		s.board.text = "spoiled"
		return nil
	case "status":
		return s.status()
	}
	s.t.Fatalf("no such line: %s", text)
	return nil
}

func (s *story) with(words []string) {
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		n, _ := strconv.ParseUint(value, 10, 64)
		switch name {
		case "at":
			s.at = n
		case "self":
			s.cfg.Self = value
		case "breadth":
			s.cfg.breadth = int(n)
		case "member":
			s.cfg.Member = true
		case "first":
			s.cfg.First = n
		case storytest.Break:
		case "after":
			s.cfg.SnapshotAfter = n
		case "every":
			s.cfg.SnapshotEvery = n
		case "offer":
			c := s.line.copyAt(n)
			s.cfg.Offers = append(s.cfg.Offers, SumPieces(s.line.head(n, c.Members()[0].Name), c.Snapshot()))
		case "bridge":
			s.cfg.Bridges = append(s.cfg.Bridges, s.line.bridge(31, n, "anna"))
		default:
			s.t.Fatalf("no such setting: %s", word)
		}
	}
}

func (s *story) wait(text string) (done []string) {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	for end := s.now + d; s.now < end; {
		s.now += 25 * time.Millisecond
		done = append(done, s.step(Tick{})...)
	}
	return done
}

// head reads "head 25 via b by=ben fork forged".
func (s *story) head(words []string) txlog.Head {
	at, _ := s.span(words[1])
	h := s.on(words).head(at, text(words, "by", "anna"))
	switch words[len(words)-1] {
	case "forged":
		h.Signature[70] ^= 1
	case "foreign":
		h.Log[0] ^= 1
	}
	return h
}

// answer reads "answer b 18-25 head=25 bridge=31": b answers what it was asked for.
func (s *story) answer(by string, words []string) []string {
	a := History{Serial: 99}
	on := s.on(words)
	for _, word := range words {
		switch name, value, is := strings.Cut(word, "="); {
		case !is && word[0] >= '0' && word[0] <= '9':
			from, upto := s.span(word)
			a.Records = append(a.Records, on.from(from, upto)...)
		case name == "head":
			n, _ := s.span(value)
			a.Heads = append(a.Heads, on.head(n, text(words, "by", "anna")))
		case name == "bridge":
			n, _ := s.span(value)
			a.Bridges = append(a.Bridges, on.bridge(31, n, text(words, "by", "anna")))
		case name == "offer":
			n, _ := s.span(value)
			c := on.copyAt(n)
			o := SumPieces(on.head(n, text(words, "by", "anna")), c.Snapshot())
			a.Offer = &o
		}
	}
	open := s.asks[by]
	at, n := 0, len(a.Records)
	for i, p := range open {
		if n > 0 && p.From == a.Records[0].Index && p.Upto >= a.Records[n-1].Index {
			at = i // the last one that it fits
		}
	}
	if len(open) > 0 {
		a.Serial = open[at].Serial
		s.asks[by] = slices.Delete(open, at, at+1)
	}
	return s.step(HistoryCame{From: by, History: a})
}

// piece reads "piece b" as a piece that b was asked for, "piece b wrong" as one that is damaged, and "wants b 25" as its wish.
func (s *story) piece(words []string) []string {
	if words[0] == "wants" {
		at, _ := s.span(words[2])
		return s.step(Wanted{From: words[1], Want: Want{At: s.line.records[at-1].Hash()}})
	}
	p := Piece{}
	if open := s.want[words[1]]; len(open) > 0 {
		p.Want, s.want[words[1]] = open[0], open[1:]
	}
	for _, line := range []*line{s.line, s.fork} {
		for i, r := range line.records {
			if r.Hash() == p.At {
				p.Bytes = line.copyAt(uint64(i + 1)).Snapshot()
			}
		}
	}
	switch words[len(words)-1] {
	case "wrong":
		p.Bytes[0] ^= 1
	case "none":
		p.Bytes = nil
	}
	return s.step(Received{From: words[1], Piece: p})
}

func (s *story) say(a Action) string {
	switch a := a.(type) {
	case Ask:
		s.asks[a.To] = append(s.asks[a.To], a.Pull)
		return fmt.Sprintf("asks %s for %d to %d", a.To, a.Pull.From, a.Pull.Upto)
	case Give:
		return "gives " + a.To + " " + describe(a)
	case AskPiece:
		s.want[a.To] = append(s.want[a.To], a.Want)
		return fmt.Sprintf("asks %s for piece %d", a.To, a.Want.Piece)
	case GivePiece:
		return fmt.Sprintf("gives %s piece %d, if it is there", a.To, a.Want.Piece)
	case Apply:
		return fmt.Sprintf("applies %s, by the head of %s at %d", indexes(a.Records), a.Head.Member, a.Head.Index)
	case Adopt:
		return fmt.Sprintf("adopts the snapshot at %d", a.Offer.Head.Index)
	case Keep:
		return fmt.Sprintf("keeps a snapshot at %d, in %d piece", a.Head.Index, len(SumPieces(a.Head, a.Photo.Bytes()).Sums))
	case KeepBridge:
		return fmt.Sprintf("keeps a bridge over the change at %d, by %s at %d", a.Bridge.Index(), a.Bridge.Head.Member, a.Bridge.Head.Index)
	case Sign:
		return fmt.Sprintf("signs a head at %d", a.Head.Index)
	case Evidence:
		return fmt.Sprintf("has evidence of a fork at %d: %s at %d against %s at %d", a.Index, a.A.Member, a.A.Index, a.B.Member, a.B.Index)
	case Confirm:
		s.since = s.now
		return "asks how far the log is"
	case Doubted:
		return fmt.Sprintf("doubts %s, who has signed a head at %d: %d so far", a.Head.Member, a.Head.Index, a.Count)
	case Parked:
		return fmt.Sprintf("is parked at %d of %d for %.0f s", a.At, a.Upto, a.For.Seconds())
	case Spoiled:
		return fmt.Sprintf("is spoiled: %v", a.Why)
	case Refused:
		return fmt.Sprintf("refuses %q: %v", a.From, a.Why)
	}
	return fmt.Sprintf("%T", a)
}

func indexes(records []txlog.Record) string {
	if len(records) == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%d to %d", records[0].Index, records[len(records)-1].Index)
}

func describe(a Give) string {
	parts := []string{indexes(a.History.Records)}
	if a.From > 0 {
		parts[0] = fmt.Sprintf("%d to %d of the store", a.From, a.Upto)
	}
	for _, h := range a.History.Heads {
		parts = append(parts, fmt.Sprintf("the head at %d", h.Index))
	}
	for _, b := range a.History.Bridges {
		parts = append(parts, fmt.Sprintf("the bridge over %d", b.Index()))
	}
	if a.History.Offer != nil {
		parts = append(parts, fmt.Sprintf("the offer of a snapshot at %d", a.History.Offer.Head.Index))
	}
	return strings.Join(parts, ", ")
}

func (s *story) status() []string {
	st := s.machine().Snapshot()
	out := []string{fmt.Sprintf("at %d, knows of %d, head at %d; keeps %d early, %d wait; forks %d", st.At.Index, st.Known, st.Head.Index, st.Held, st.Waiting, st.Forks)}
	if f := st.Fork; f.B.Index > 0 {
		out[0] += fmt.Sprintf(", the first at %d by %s", f.Index, f.B.Member)
	}
	for _, d := range st.Doubts {
		out = append(out, fmt.Sprintf("doubts %s, up to %d: %d", d.Head.Member, d.Head.Index, d.Count))
	}
	if st.Spoiled {
		out = append(out, "its copy is spoiled")
	}
	return out
}
