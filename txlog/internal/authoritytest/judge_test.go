package authoritytest_test

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
	"github.com/conchhq/conch/txlog/internal/authoritytest"
)

// Each promise that an authority breaks is named.
func TestTheJudgeNamesWhatIsBroken(t *testing.T) {
	t.Parallel()
	one := sealed(t, txlog.Record{}, txlog.Entry{Term: 1, Kind: txlog.Opening})
	two := sealed(t, one, txlog.Entry{Term: 1, Kind: txlog.Scrubbed})
	other := sealed(t, one, txlog.Entry{Term: 2, Kind: txlog.Opening})
	stored := func(all ...txlog.Record) authority.Fact { return authority.Stored{Records: all} }
	type told struct {
		node string
		fact authority.Fact
	}
	a := func(f authority.Fact) told { return told{"a", f} }
	b := func(f authority.Fact) told { return told{"b", f} }
	for name, c := range map[string]struct {
		told []told
		want string
	}{
		"nothing":            {[]told{a(authority.Leads{Term: 1}), a(stored(one)), a(authority.Committed{Index: 1}), b(stored(one)), b(authority.Committed{Index: 1})}, ""},
		"a tail is replaced": {[]told{a(stored(one, two)), a(authority.Committed{Index: 1}), a(authority.Deposed{Term: 2}), a(stored(other))}, ""},
		"a tail is dropped":  {[]told{a(stored(one, two)), a(authority.Committed{Index: 1}), a(authority.Dropped{From: 2}), a(stored(two))}, ""},
		"dropped":            {[]told{a(stored(one, two)), a(authority.Committed{Index: 1}), a(authority.Dropped{From: 1})}, "from 1 on are gone"},
		"dropped again":      {[]told{a(stored(one)), a(authority.Dropped{From: 1}), a(authority.Dropped{From: 1})}, "from 1 on are gone, and has 0"},
		"a term goes back":   {[]told{a(authority.Deposed{Term: 2}), a(authority.Leads{Term: 2})}, "a leads in term 2, and knew of term 2"},
		"a known term":       {[]told{a(authority.Deposed{Term: 2}), a(authority.Deposed{Term: 1})}, "told of term 1"},
		"two lead":           {[]told{a(authority.Leads{Term: 2}), b(authority.Leads{Term: 2})}, "b and a lead in term 2"},
		"the wrong leader":   {[]told{a(authority.Leads{Term: 2}), b(authority.Deposed{Term: 2, Leader: "c"})}, "told that c leads"},
		"a gap":              {[]told{a(stored(two))}, "which it does not follow"},
		"an unknown term":    {[]told{a(authority.Deposed{Term: 1}), a(stored(one, other))}, "was told of term 1 at most"},
		"late":               {[]told{a(stored(one)), a(authority.Leads{Term: 3}), a(stored(two))}, "is told only now"},
		"not stored":         {[]told{a(stored(one)), a(authority.Committed{Index: 2})}, "and has 1"},
		"committed again":    {[]told{a(stored(one)), a(authority.Committed{Index: 1}), a(authority.Committed{Index: 1})}, "after entry 1"},
		"replaced":           {[]told{a(stored(one)), a(authority.Committed{Index: 1}), a(stored(one))}, "and it is committed"},
		"two histories":      {[]told{a(stored(one, two)), b(stored(one, other)), a(authority.Committed{Index: 2}), b(authority.Committed{Index: 2})}, "entry 2 is committed twice"},
		"nobody asked":       {[]told{a(authority.Confirmed{Read: 1})}, "nobody has asked"},
		"no fact":            {[]told{a(nil)}, "no fact"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := authoritytest.NewJudge(one.Log)
			var err error
			for _, f := range c.told {
				if err = j.Hear(f.node, f.fact); err != nil {
					break
				}
			}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want %q", err, c.want)
			}
		})
	}
}

// A read that is confirmed before what was acknowledged, or twice, and a store that has lost what it had.
func TestTheJudgeRemembers(t *testing.T) {
	t.Parallel()
	one := sealed(t, txlog.Record{}, txlog.Entry{Term: 1, Kind: txlog.Opening})
	two := sealed(t, one, txlog.Entry{Term: 1, Kind: txlog.Scrubbed})
	j := authoritytest.NewJudge(one.Log)
	for _, f := range []authority.Fact{authority.Leads{Term: 1}, authority.Stored{Records: []txlog.Record{one, two}}, authority.Committed{Index: 1}} {
		if err := j.Hear("a", f); err != nil {
			t.Fatal(err)
		}
	}
	j.Asked("b", 1)
	j.Asked("b", 2)
	if err := j.Hear("b", authority.Confirmed{Read: 1}); err == nil || !strings.Contains(err.Error(), "was acknowledged before") {
		t.Errorf("a read before what was acknowledged: %v", err)
	}
	if err := j.Hear("b", authority.Confirmed{Read: 2, Index: 1}); err != nil {
		t.Error(err)
	}
	if err := j.Hear("b", authority.Confirmed{Read: 2, Index: 1}); err == nil {
		t.Error("a read is answered twice, and nobody says so")
	}
	if err := j.Began("a", []txlog.Record{one}, 1); err == nil || !strings.Contains(err.Error(), "has kept 1") {
		t.Errorf("a stored entry is lost: %v", err)
	}
	if err := j.Began("a", nil, 0); err == nil || !strings.Contains(err.Error(), "has kept that of entry 0") {
		t.Errorf("a committed entry is lost: %v", err)
	}
	if err := j.Began("a", []txlog.Record{one, two}, 1); err != nil {
		t.Error(err)
	}
}
