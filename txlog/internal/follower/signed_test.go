package follower

import (
	"errors"
	"testing"

	"github.com/conchhq/conch/txlog"
)

// covers reports whether the machine gives a head with the entry of its copy.
func covers(m *Machine) bool {
	for _, g := range of[Give](m.Step(0, Asked{From: "ben", Pull: Pull{From: m.at.Index, Upto: m.at.Index}})) {
		for _, h := range g.History.Heads {
			if h.Position == m.at {
				return true
			}
		}
	}
	return false
}

// A head that this node has just signed counts as one of a member, as long as it is one. One that others bring under its name is checked as any
// other is, and so is one that its own memory has spoiled: neither covers anything, and neither is evidence (V6).
func TestAHeadOfThisNode(t *testing.T) {
	t.Parallel()
	forged := func(h txlog.Head) txlog.Head { h.Signature[95] ^= 1; return h }
	wrong := func(h txlog.Head) txlog.Head { h.State[0]++; return h }
	for name, c := range map[string]struct {
		in     func(l *line, h txlog.Head) Input
		covers bool
		why    error
	}{
		"signed":                         {func(_ *line, h txlog.Head) Input { return Signed{h} }, true, nil},
		"brought by others":              {func(_ *line, h txlog.Head) Input { return Heard{h, "ben"} }, true, nil},
		"forged":                         {func(_ *line, h txlog.Head) Input { return Heard{forged(h), "ben"} }, false, nil},
		"forged under this node's name":  {func(_ *line, h txlog.Head) Input { return Heard{forged(h), "anna"} }, false, nil},
		"by a key that is not its":       {func(_ *line, h txlog.Head) Input { return Signed{h.Sign(key("eve"))} }, false, nil},
		"of a node that is no member":    {func(l *line, _ txlog.Head) Input { return Signed{l.head(21, "dora")} }, false, nil},
		"contradicts, not signed":        {func(_ *line, h txlog.Head) Input { return Signed{wrong(h)} }, false, txlog.ErrSignature},
		"contradicts, brought by others": {func(_ *line, h txlog.Head) Input { return Heard{wrong(h), "ben"} }, false, txlog.ErrSignature},
	} {
		l := newLine(t, "anna", "ben", "dora").goals(20, "goal").change("anna", "ben")
		m := followed(t, l, 20, func(c *Config) { c.Self, c.Member = "anna", true }, "ben")
		m.Step(0, Applied{Records: l.from(21, 21)})
		out := m.Step(0, c.in(l, l.head(21, "anna")))
		if got := covers(m); got != c.covers {
			t.Errorf("%s: it covers the entry: %v", name, got)
		}
		refused := of[Refused](out)
		if c.why != nil && (len(refused) != 1 || !errors.Is(refused[0].Why, c.why)) || c.why == nil && len(refused) > 0 || len(of[Evidence](out)) > 0 {
			t.Errorf("%s: %+v", name, out)
		}
	}
}
