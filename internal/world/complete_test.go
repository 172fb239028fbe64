package world_test

import (
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/conchhq/conch/internal/world"
)

// toy is the configuration of a world that there is not.
type toy struct {
	Nodes        int
	Seed         uint64
	Scene, Break string
	Loss         int
	Trace        io.Writer
	own          func()
}

var toys = world.Simulator[toy, struct{}]{
	Rules:  []world.Rule[toy]{{Name: "rule", In: toy{Scene: "scene", Seed: 7, Loss: 3}}},
	Scenes: []world.Scene[toy, struct{}]{{Name: "scene", In: toy{Nodes: 5, Loss: 9}}},
}

// What was asked for counts first, then the rule, then the scene, which the rule may name, and then what is usual.
func TestFill(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ asked, want toy }{
		{toy{}, toy{Nodes: 2, Seed: 1}},
		{toy{Nodes: 4}, toy{Nodes: 4, Seed: 1}},
		{toy{Scene: "scene"}, toy{Nodes: 5, Seed: 1, Scene: "scene", Loss: 9}},
		{toy{Break: "rule"}, toy{Nodes: 5, Seed: 7, Scene: "scene", Break: "rule", Loss: 3}},
		{toy{Break: "rule", Scene: "none", Seed: 2}, toy{Nodes: 2, Seed: 2, Scene: "none", Break: "rule", Loss: 3}},
	} {
		if got := toys.Fill(c.asked, toy{Nodes: 2, Seed: 1, own: func() {}}); got.own != nil || got.Nodes != c.want.Nodes || got.Seed != c.want.Seed || got.Scene != c.want.Scene || got.Loss != c.want.Loss {
			t.Errorf("%+v becomes %+v, want %+v", c.asked, got, c.want)
		}
	}
}

// The help has a part for scenes and one for patches where there are such, and says which rules need a patch.
func TestHelp(t *testing.T) {
	t.Parallel()
	own, patches := toys, toys
	own.Scenes, own.Stories, patches.Stories = nil, fstest.MapFS{}, fstest.MapFS{}
	patches.Rules = []world.Rule[toy]{{Name: "late", Invariant: "on-time", Why: "is so"}, {Name: "rule"}}
	for text, where := range map[string][2]bool{ // in own, in patches
		"--scene shows": {false, true}, "  late *                      is so (falls: on-time)\n": {false, true}, "  rule                        \n": {true, true},
		"by a patch of the source": {false, true}, "Equal flags": {true, true}, "--story plays": {true, true},
	} {
		if got := [2]bool{strings.Contains(own.Help()+"\n", text), strings.Contains(patches.Help(), text)}; got != where {
			t.Errorf("%q: %v, want %v", text, got, where)
		}
	}
}

// A scene or a rule that is not there is named, with those that are.
func TestUnknown(t *testing.T) {
	t.Parallel()
	known, unknown := toys.Unknown(toy{Scene: "scene", Break: "rule"}), toys.Unknown(toy{Scene: "heaven", Break: "nothing"})
	if known.All() != nil || strings.Count(unknown.All().Error(), "\n") != 1 {
		t.Fatalf("%v and %v, want no fault and two", known, unknown)
	}
	for _, want := range []string{`no scene "heaven": there are scene`, `no rule "nothing" to break: there are rule`} {
		if err := unknown.All(); !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A run ends once five violations were found. Each has the command that repeats the run, and what is told is a line of the story.
func TestARunEnds(t *testing.T) {
	t.Parallel()
	r := toys.Begin(toy{Nodes: 3, Seed: 4})
	r.Line = func() string { return "once more" }
	var again func()
	again = func() {
		r.Check(false, "never", "%d", r.World().Steps())
		r.World().After(1, again)
	}
	again()
	r.Until(1000, nil)
	report := r.Report()
	if !r.Over() || len(report.Violations) != 5 || !report.Has("never") || report.Steps > 5 || report.Seed != 4 || report.Nodes != 3 || report.Violations[4].Replay != "once more" {
		t.Errorf("the report is %+v", report)
	}
}
