package core

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// silence is a silence whose matchers are ready.
type silence struct {
	Silence
	tests []test
}

type test struct {
	Matcher
	pattern *regexp.Regexp // of =~ and !~
}

// Validate returns what is wrong with a silence.
func (s Silence) Validate() error {
	if len(s.Matchers) == 0 {
		return errors.New("a silence without a matcher silences everything: say what it is for")
	}
	if !s.Until.After(s.Since) {
		return fmt.Errorf("the silence ends at %s, and begins at %s", s.Until, s.Since)
	}
	for _, m := range s.Matchers {
		if _, err := m.ready(); err != nil {
			return err
		}
	}
	return nil
}

func (m Matcher) ready() (test, error) {
	switch m.Op {
	case "=", "!=":
		return test{Matcher: m}, nil
	case "=~", "!~":
		pattern, err := regexp.Compile("^(?s:" + m.Value + ")$")
		return test{m, pattern}, err
	}
	return test{}, fmt.Errorf("%q is no comparison: want =, !=, =~ or !~", m.Op)
}

// compile leaves out what cannot be read: somebody has written it beside [Silence.Validate], and what cannot be read silences nothing.
func compile(all []Silence) (ready []silence) {
	for _, s := range all {
		one := silence{Silence: s}
		for _, m := range s.Matchers {
			if t, err := m.ready(); err == nil {
				one.tests = append(one.tests, t)
			}
		}
		if len(one.tests) == len(s.Matchers) && len(one.tests) > 0 {
			ready = append(ready, one)
		}
	}
	slices.SortFunc(ready, func(a, b silence) int { return cmp.Compare(a.ID, b.ID) })
	return ready
}

func (t test) matches(value string) bool {
	is := t.Value == value
	if t.pattern != nil {
		is = t.pattern.MatchString(value)
	}
	return is != (t.Op[0] == '!')
}

// mutedBy is the silence that keeps a member from being told now.
func (c *Core) mutedBy(g *group, m *member) string {
	for _, s := range c.silences {
		if s.Since.After(c.at) || !s.Until.After(c.at) {
			continue
		}
		matches := func(t test) bool {
			switch t.Label {
			case "alertname":
				return t.matches(g.Rule)
			case "severity":
				return t.matches(cmp.Or(m.Labels["severity"], c.rules[g.Rule].Severity))
			}
			return t.matches(m.Labels[t.Label])
		}
		if !slices.ContainsFunc(s.tests, func(t test) bool { return !matches(t) }) {
			return s.ID
		}
	}
	return ""
}

// Key names a group to its receivers. It holds no epoch, node, time, value, severity or version: so all that anybody ever says of the group has one key.
func Key(cluster, rule string, labels map[string]string) string {
	return "conch/" + cluster + "/" + rule + "/" + hash(labels)
}

func hash(labels map[string]string) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		fmt.Fprintf(sum, "%d:%s%d:%s", len(name), name, len(labels[name]), labels[name])
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
