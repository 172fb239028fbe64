package world

import (
	"reflect"
	"strings"

	"github.com/conchhq/conch/internal/faults"
)

// Fill sets what a configuration leaves out as the broken rule needs it, then as the scene has it, and else as is usual.
func (s Simulator[C, P]) Fill(c, usual C) C {
	at := s.Common(&c)
	if r := s.Rule(*at.Break); r != nil && !at.Telling.On() {
		fill(&c, r.In)
	}
	if n := s.Scene(named(at.Scene)); n != nil {
		fill(&c, n.In)
	}
	fill(&c, usual)
	return c
}

// fill sets each field that is zero; those that are not exported are a world's own affair.
func fill[C any](c *C, with C) {
	to, from := reflect.ValueOf(c).Elem(), reflect.ValueOf(with)
	for i := range to.NumField() {
		if f := to.Field(i); f.CanSet() && f.IsZero() {
			f.Set(from.Field(i))
		}
	}
}

// Unknown returns the first faults of a configuration: it names a scene or a rule that is not there.
func (s Simulator[C, P]) Unknown(c C) faults.List {
	var f faults.List
	at := s.Common(&c)
	scene, rule := named(at.Scene), *at.Break
	var scenes, rules []string
	for _, n := range s.Scenes {
		scenes = append(scenes, n.Name)
	}
	for _, r := range s.Rules {
		rules = append(rules, r.Name)
	}
	f.Add(scene != "" && s.Scene(scene) == nil, "there is no scene %q: there are %s", scene, strings.Join(scenes, ", "))
	f.Add(rule != "" && s.Rule(rule) == nil, "there is no rule %q to break: there are %s", rule, strings.Join(rules, ", "))
	return f
}
