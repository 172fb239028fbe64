package committee

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/conchhq/conch/internal/world/story"
)

// Words implements story.World.
func (s *stage) Words() []story.Word {
	return []story.Word{
		{Form: "submit NODE TEXT", What: "a user hands an intent in: give PURSE NUMBER, move PURSE PURSE NUMBER, look PURSE, never, or fails", Do: s.submit},
		{Form: "hold NODE", What: "what it submits gets into no block", Do: s.hold, Undo: s.release},
		{Form: "release", What: "what was held may get into a block", Do: s.release},
		{Form: "late NODE TIME", What: "blocks reach it so late", Do: func(a story.Args) error { return s.late(a, a.Time) }, Undo: func(a story.Args) error { return s.late(a, 0) }},
		{Form: "slow NODE TIME", What: "what it says leaves it so late", Do: func(a story.Args) error { return s.slow(a, a.Time) }, Undo: func(a story.Args) error { return s.slow(a, 0) }},
	}
}

// Facts implements story.World.
func (s *stage) Facts() []story.Fact {
	number := func(form, what string, now func() int64) story.Fact {
		return story.Fact{Form: form, What: what, Holds: func(a story.Args) (bool, string) {
			return now() == int64(a.Number), fmt.Sprintf("it is %d", now())
		}}
	}
	return []story.Fact{
		{Form: "ended", What: "every intent has ended", Holds: s.ended},
		number("confirmed NUMBER", "so many intents have ended as confirmed", func() int64 { return s.Stats["confirmed"] }),
		number("reverted NUMBER", "so many intents have ended as reverted", func() int64 { return s.Stats["reverted"] }),
		number("landed NUMBER", "so many intents are in a block", func() int64 { return s.Stats["landed"] }),
		number("skipped NUMBER", "so many entries were in a block in vain", func() int64 { return s.Stats["skipped"] }),
		number("block NUMBER", "the last block", func() int64 { return int64(s.chain.head.Number()) }),
		number("range NUMBER", "of the last final block", func() int64 { return int64(s.inRange(0)) }),
		number("next range NUMBER", "of the block after that", func() int64 { return int64(s.inRange(1)) }),
		{Form: "granted NODE", What: "a grant of it is stored", Holds: func(a story.Args) (bool, string) {
			all := s.node(a.Node()).db.load().Intents
			return len(all) > 0 && len(all[len(all)-1].Grants) > 0, "none is"
		}},
		{Form: "dispatched NODE", What: "a dispatch of it is stored", Holds: func(a story.Args) (bool, string) { return len(s.node(a.Node()).db.load().Rows) > 0, "none is" }},
	}
}

func (s *stage) ended(story.Args) (bool, string) {
	for _, k := range s.order {
		if w := s.wishes[k]; w.result == nil {
			return false, fmt.Sprintf("%s of %s has not: %s", w.key, w.node.name, w.node.describe(w))
		}
	}
	return true, ""
}

// submit has a user hand an intent in. What cannot be done ends as reverted.
func (s *stage) submit(a story.Args) error {
	words := strings.Fields(a.Text)
	lengths := map[string]int{"give": 3, "move": 4, "look": 2, "never": 1, "fails": 1}
	if lengths[words[0]] != len(words) {
		return fmt.Errorf("%q is no intent: it is give PURSE NUMBER, move PURSE PURSE NUMBER, look PURSE, never, or fails", a.Text)
	}
	amount := uint64(0)
	if last := words[len(words)-1]; words[0] == "give" || words[0] == "move" {
		n, err := strconv.ParseUint(last, 10, 32)
		if err != nil {
			return fmt.Errorf("%q is no number", last)
		}
		if words[0] == "give" {
			amount = n
		}
	}
	s.wish(1, s.node(a.Node()), a.Text, amount)
	return nil
}

func (s *stage) hold(a story.Args) error {
	s.chain.frozen = s.node(a.Node()).account
	s.tell("the chain", "takes nothing of %s", a.Node())
	return nil
}

func (s *stage) release(story.Args) error {
	s.chain.frozen = ""
	s.tell("the chain", "takes everything")
	return nil
}

func (s *stage) late(a story.Args, by time.Duration) error {
	s.node(a.Node()).lag = by
	s.lagged = max(s.lagged, by)
	if by > 0 {
		s.tell(a.Node(), "hears of blocks %s late", by)
	} else {
		s.tell(a.Node(), "hears of blocks as before")
	}
	return nil
}

func (s *stage) slow(a story.Args, by time.Duration) error {
	s.node(a.Node()).slow = by
	if by > 0 {
		s.tell(a.Node(), "says everything %s late", by)
	} else {
		s.tell(a.Node(), "says everything as before")
	}
	return nil
}

// Runs implements story.Node.
func (n *node) Runs() bool { return n.up }

// Stands implements story.Node.
func (n *node) Stands() bool { return false }

// Kill implements story.Node.
func (n *node) Kill() {
	n.r.tell(n.name, "is killed")
	n.stay = true
	n.crash("")
}

// Start implements story.Node.
func (n *node) Start() {
	n.stay = false
	n.boot()
}

// Freeze implements story.Node.
func (n *node) Freeze() error {
	return errors.New("cannot stand still in this world: kill it, or make it slow")
}

// Thaw implements story.Node.
func (n *node) Thaw() {}

// Cut implements story.World.
func (s *stage) Cut(l story.Link) error {
	s.tell("the network", "%s", l.Cut())
	l.Ways(s.net.Cut)
	return nil
}

// Heal implements story.World.
func (s *stage) Heal(l story.Link) error {
	s.tell("the network", "%s", l.Healed())
	l.Ways(s.net.Heal)
	return nil
}
