// Package worldtest has what the tests of all simulators share: how much there is time for, that stories are as they are told, that each
// rule is needed, and that pages have what the code says now.
package worldtest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/internal/storytest"
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/patched"
	"github.com/conchhq/conch/internal/world/patched/patchedtest"
)

var update = flag.Bool("update", false, "write the stories and the pages anew")

// Nightly reports whether there is time for many seeds.
func Nightly() bool { return runtest.Nightly() }

// Few reports whether there is time for few worlds only: there is for more in make test-whole, without the race detector.
func Few() bool {
	return !Nightly() && (Raced || testing.Short() || !runtest.Whole())
}

// Whole skips a test that takes long when there is little time.
func Whole(t *testing.T) {
	t.Helper()
	if Few() {
		t.Skip("left to make test-whole: run it with CONCH_WHOLE=1, without the race detector")
	}
}

// Enough returns how much of something is enough: where there is time for few, for the whole, and at night.
func Enough[N any](few, whole, night N) N {
	switch {
	case Nightly():
		return night
	case Few():
		return few
	}
	return whole
}

// Clean fails the test for each violation, with the line that repeats the run.
func Clean(t *testing.T, r world.Report) {
	t.Helper()
	for _, v := range r.Violations {
		t.Errorf("%s after step %d: %s\n\t%s", v.Invariant, v.Step, v.Detail, v.Replay)
	}
}

// Seeds runs the seeds from 1 on, in groups beside each other, until one is not clean.
func Seeds(t *testing.T, groups, seeds uint64, run func(seed uint64) world.Report) {
	t.Helper()
	for group := range groups {
		t.Run(fmt.Sprint(group), func(t *testing.T) {
			t.Parallel()
			for seed := group + 1; seed <= seeds && !t.Failed(); seed += groups {
				Clean(t, run(seed))
			}
		})
	}
}

// Equal fails the test unless two runs are equal, and returns one of them.
func Equal(t *testing.T, run func() world.Report) world.Report {
	t.Helper()
	one, two := run(), run()
	if one.Trace != two.Trace || one.Steps != two.Steps {
		t.Errorf("one run of %d steps has the hash %s, the other of %d steps %s", one.Steps, one.Trace, two.Steps, two.Trace)
	}
	return one
}

// With returns a configuration with a scene and a seed.
func With[C, P any](s world.Simulator[C, P], scene string, seed uint64) C {
	var c C
	at := s.Common(&c)
	*at.Scene, *at.Seed = scene, seed
	return c
}

// Stories compares each story with its file, below the comments at whose beginning it is kept. Each is judged as every run is. With -update
// they are written anew: read the diff.
func Stories[C, P any](t *testing.T, s world.Simulator[C, P]) {
	t.Helper()
	for _, scene := range s.Scenes {
		if !scene.Story {
			continue
		}
		t.Run(scene.Name, func(t *testing.T) {
			t.Parallel()
			file := "testdata/" + scene.Name + ".txt"
			old, _ := os.ReadFile(file)
			var told bytes.Buffer
			for line := range strings.Lines(string(old)) {
				if !strings.HasPrefix(line, "#") {
					break
				}
				told.WriteString(line)
			}
			c := With(s, scene.Name, 1)
			*s.Common(&c).Story = &told
			Clean(t, s.Run(c))
			storytest.Golden(t, *update, file, told.String())
		})
	}
}

// Rules shows for each rule that without it the invariant falls that it is for: in so many of the seeds from the one on that has shown it. With
// the rule such a world is clean. Change changes the configuration, which is complete.
func Rules[C, P any](t *testing.T, s world.Simulator[C, P], falls, seeds int, change func(rule string, c *C)) {
	t.Helper()
	for _, rule := range s.Rules {
		t.Run(rule.Name, func(t *testing.T) {
			t.Parallel()
			var c C
			at := s.Common(&c)
			*at.Break = rule.Name
			c = s.Complete(c)
			change(rule.Name, &c)
			if patched.Out() == "" {
				kept := c
				*s.Common(&kept).Break = ""
				Clean(t, s.Run(kept))
			}
			if patchedtest.Elsewhere(t, rule.Name) {
				return
			}
			left := falls
			for range seeds {
				r := s.Run(c)
				*at.Seed++
				if !r.Has(rule.Invariant) {
					continue
				}
				t.Logf("falls with seed %d: %s", r.Seed, r.Violations[0].Detail)
				if left--; left == 0 { // of one seed alone it could be chance, which the next change of the machines takes away
					return
				}
			}
			t.Errorf("without %s %q fell in %d of %d worlds, and %s", rule.Name, rule.Invariant, falls-left, seeds, rule.Why)
		})
	}
}
