package authoritytest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/limits"
)

// appends: what a leader appends is stored and committed by all, in one order.
func appends(s *stage) {
	s.lead("a")
	last := s.append("a", goal("1"), goal("2"), goal("3"))[2]
	s.all(last)
	if n := s.judge.Committed(); n != 4 {
		s.t.Errorf("%d entries are committed, want 4", n)
	}
}

// inOrder: many entries at once, some of them large, keep their order.
func inOrder(s *stage) {
	s.lead("b")
	var all []txlog.Entry
	for i := range 300 {
		e := goal(fmt.Sprint(i))
		if i%30 == 0 {
			e.Diff = make([]byte, limits.MostDiff)
		}
		all = append(all, e)
	}
	records := s.append("b", all...)
	s.all(records[len(records)-1])
	for i, r := range s.judge.committed[1:] {
		if r.GoalID != fmt.Sprint(i) {
			s.t.Fatalf("entry %d has goal %s, want %d", r.Index, r.GoalID, i)
		}
	}
}

// oldTerm: what was made in a term is not stored in a later one (no-forward, drop-speculation).
func oldTerm(s *stage) {
	first := s.lead("a")
	s.all(s.append("a", goal("1"))[0])
	s.lead("b")
	s.all(s.append("b", goal("2"))[0])
	s.until("a is deposed", func() bool { return !s.judge.Of("a").Leads })
	s.append("a", txlog.Entry{Kind: txlog.Opening, Term: first}, txlog.Entry{Kind: txlog.Scrubbed, Term: first})
	second := s.lead("a")
	s.all(s.append("a", goal("3"))[0])
	// Nor what was made before a leader was deposed that leads again.
	s.append("a", txlog.Entry{Kind: txlog.Scrubbed, Term: first})
	s.all(s.append("a", goal("4"))[0])
	for _, r := range s.judge.committed {
		if r.Kind == txlog.Scrubbed || second <= first {
			s.t.Errorf("entry %d of term %d was stored after term %d had begun", r.Index, r.Term, second)
		}
	}
}

// cutOff: a leader that is cut off commits nothing, and learns that it is deposed; what it had stored alone is replaced.
func cutOff(s *stage) {
	s.lead("a")
	s.all(s.append("a", goal("1"))[0])
	s.part("a")
	lost := s.append("a", goal("lost 1"), goal("lost 2"))
	s.confirm("a")
	read := s.reads
	s.lead("b")
	kept := s.append("b", goal("2"), goal("3"))
	s.until("b has committed", func() bool { return s.judge.Of("b").Committed >= kept[1].Index })
	s.part()
	s.until("a is deposed", func() bool { return !s.judge.Of("a").Leads })
	s.all(kept[1])
	for _, r := range s.judge.committed {
		if slices.ContainsFunc(lost, func(l txlog.Record) bool { return l.Hash() == r.Hash() }) {
			s.t.Errorf("entry %d of a leader that was cut off is committed", r.Index)
		}
	}
	// The read of the old leader may have been answered since, but not with what it knew (the judge sees to that).
	s.note("read %d is unanswered: %v", read, s.unanswered("a", read))
	s.lead("a")
	s.all(s.append("a", goal("4"))[0])
}

// leaderCrashes: what was committed stays, and what was only appended is kept by all or by nobody.
func leaderCrashes(s *stage) {
	for i := range 3 {
		leader, next := Names[i], Names[(i+1)%3]
		if i == 0 {
			s.lead(leader)
		}
		s.all(s.append(leader, goal(fmt.Sprint("acknowledged ", i)))[0])
		s.append(leader, goal(fmt.Sprint("under way ", i)))
		s.crash(leader)
		s.lead(next)
		s.until("the next leader commits", func() bool {
			h := s.judge.Of(next)
			return h.Committed > 0 && h.Records[h.Committed-1].Term == h.Term
		})
		s.start(leader)
		s.until("all have the same", s.everybody(s.judge.Of(next).Committed))
	}
	acknowledged := 0
	for _, r := range s.judge.committed {
		if strings.HasPrefix(r.GoalID, "acknowledged") {
			acknowledged++
		}
	}
	if acknowledged != 3 {
		s.t.Errorf("%d acknowledged entries are there, want 3", acknowledged)
	}
}

// followerCrashes: a member that was away hears what it has missed, from where it has stopped.
func followerCrashes(s *stage) {
	s.lead("a")
	s.all(s.append("a", goal("1"))[0])
	s.crash("c")
	s.all(s.append("a", goal("2"), goal("3"))[1])
	s.start("c")
	s.all(s.append("a", goal("4"))[0])
	s.crash("b")
	s.start("b")
	s.lead("b")
	s.all(s.append("b", goal("5"))[0])
}

// reads: a read is confirmed at no entry before the newest one that was acknowledged, and once.
func reads(s *stage) {
	s.lead("a")
	for i := range 5 {
		r := s.append("a", goal(fmt.Sprint(i)))[0]
		s.until("it is acknowledged", func() bool { return s.judge.Of("a").Committed >= r.Index })
		s.confirm("a")
		read := s.reads
		s.until("the read is confirmed", func() bool { return !s.unanswered("a", read) })
	}
	s.lead("b")
	s.append("b", goal("of b"))
	s.until("b has committed in its term", func() bool {
		h := s.judge.Of("b")
		return h.Records[len(h.Records)-1].GoalID == "of b" && h.Committed == uint64(len(h.Records))
	})
	s.confirm("b")
	s.confirm("b")
	s.until("both reads are confirmed", func() bool { return !s.unanswered("b", s.reads) && !s.unanswered("b", s.reads-1) })
}

// goesRound: terms only grow, and each leader has everything that was committed before it leads.
func goesRound(s *stage) {
	var last uint64
	for i := range 6 {
		name := Names[i%3]
		before := s.judge.Committed()
		term := s.lead(name)
		if term <= last {
			s.t.Fatalf("term %d came after term %d", term, last)
		}
		if h := s.judge.Of(name); uint64(len(h.Records)) < before {
			s.t.Fatalf("%s leads with %d entries, and %d were committed", name, len(h.Records), before)
		}
		last = term
		s.append(name, goal(fmt.Sprint("a", i)), goal(fmt.Sprint("b", i)))
		s.until("it is committed", func() bool { return s.judge.Of(name).Committed >= before+3 })
	}
	s.until("all have the same", s.everybody(s.judge.Committed()))
}

// nobodyAsks: a member that does not lead appends nothing.
func nobodyAsks(s *stage) {
	s.append("a", txlog.Entry{Kind: txlog.Opening, Term: 1})
	term := s.lead("b")
	s.append("c", txlog.Entry{Kind: txlog.Scrubbed, Term: term})
	s.all(s.append("b", goal("1"))[0])
	for _, r := range s.judge.committed {
		if r.Leader != "b" {
			s.t.Errorf("entry %d is of %s, which does not lead", r.Index, r.Leader)
		}
	}
}
