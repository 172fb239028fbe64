//go:build unix

package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/sequencer/sequencertest/liar"
)

// A liar is conch with one line changed and one file more. What it tells comes from its environment: the product has no switch
// for that.
const (
	liarLine  = "\tcfg.Transport = t.endpoint\n"
	liarMore  = liarLine + "\tcfg = lying(cfg)\n"
	envLie    = "CONCH_LIE"
	lieTold   = "a lie was told"
	liarsFile = `package contracts

import (
	"os"
	"sync"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/sequencertest/liar"
)

func lying(cfg sequencer.Config) sequencer.Config {
	lie, _ := liar.Named(os.Getenv("` + envLie + `"))
	var told sync.Map
	return lie.Tells(cfg, func(kind string) {
		if _, before := told.LoadOrStore(kind, true); !before {
			cfg.Log.Warn("` + lieTold + `", "lie", lie.Name, "about", kind)
		}
	})
}
`
)

const (
	stormLiar  = 4  // not the first one: it issues
	liarBlocks = 20 // of a range, so that its turn comes each 100 s, and two ranges are no long wait
	// A lie is told for one range more when all of it was told, and if not all can be told, for as many ranges at most.
	mostTurns = 8
)

// liarOverlay writes what turns conch into a liar.
func liarOverlay(t *testing.T) (path string) {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("internal", "service", "contracts"))
	if err != nil {
		t.Fatal(err)
	}
	place, out := filepath.Join(dir, "term.go"), t.TempDir()
	text, err := os.ReadFile(place)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), liarLine); n != 1 {
		t.Fatalf("%s has the line %q %d times, want once: say here where a node gets its transport now", place, liarLine, n)
	}
	written := map[string]string{place: strings.Replace(string(text), liarLine, liarMore, 1), filepath.Join(dir, "lying.go"): liarsFile}
	replace := map[string]string{}
	for to, text := range written {
		replace[to] = filepath.Join(out, filepath.Base(to))
		if err := os.WriteFile(replace[to], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	path = filepath.Join(out, "overlay.json")
	if err == nil {
		err = os.WriteFile(path, list, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// builtLiar builds the program that lies.
func builtLiar(t *testing.T) string {
	t.Helper()
	path, err := proctest.Build("conch-liar", ".", append([]string{raceFlag, "-overlay", liarOverlay(t)}, proctest.Stamp...)...)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// The one line that a liar has otherwise is where it was: the night alone builds it.
func TestALiarHasItsPlace(t *testing.T) {
	t.Parallel()
	liarOverlay(t)
}

// Q3, I1, I2, I10: the same storm, while one of the five tells each lie that there is. What is honest lands once, the users of honest
// members are told the truth and have their money, and from each fault's last second on no more is skipped than lands. A liar
// may keep what it says that it has dispatched, or a part of what it was given, for a range of its own: so long an honest payment may wait
// beside what a storm costs. Its own users have what it gives them; their payments land once at most.
func TestAStormWithALiar(t *testing.T) {
	s, lasts, v := storms(t, liarBlocks, stormLiar)
	whole := 0
	for _, l := range s.lies {
		lie, _ := liar.Named(l.Name)
		if s.toldOf(lie) {
			whole++
		} else {
			t.Logf("the run was over before the liar had reason to tell all of: %s", l.Name)
		}
	}
	if len(v.Violations) > 0 || v.Landed < int(lasts/time.Second) || whole < int(lasts/(2*mostTurns*liarBlocks*stormBlock)) {
		t.Errorf("%d violations, %d landed, %d lies told; want none, one landed for each second, and a lie in %d ranges: or this shows nothing",
			len(v.Violations), v.Landed, whole, 2*mostTurns)
	}
}

// most is what a user of an honest member waits at most, of a hundred all but one.
func (s *storm) most() time.Duration {
	if s.liar < 0 {
		return mostP99
	}
	return mostP99 + s.turn()
}

// waits waits for an instant. Meanwhile it looks whether the liar has told all of its lie.
func (s *storm) waits(at time.Time) {
	s.t.Helper()
	for s.liar >= 0 && time.Now().Before(at) {
		last := s.lies[len(s.lies)-1]
		if lie, _ := liar.Named(last.Name); !s.toldOf(lie) && time.Since(last.From) < mostTurns*s.turn() {
			s.whole = time.Now()
		}
		s.until(time.Now().Add(min(stormLook, time.Until(at))))
	}
	s.until(at)
}

func (s *storm) turn() time.Duration { return time.Duration(s.blocks) * stormBlock }

// lie has the liar tell another lie if it has told the last one. Its node is killed for that, so this is a part of a fault, or comes before
// all payments: it would be in no account otherwise.
func (s *storm) lie() {
	s.t.Helper()
	now, all := time.Now(), liar.Lies()[1:]
	if s.liar < 0 || len(s.lies) > 0 && now.Before(s.whole.Add(s.turn())) || len(s.lies) == len(all) {
		return
	}
	next := all[rand.New(rand.NewPCG(s.seed, 53)).Perm(len(all))[len(s.lies)]]
	o := s.all[s.liar]
	s.kill(s.liar)
	o.env = []string{envLie + "=" + next.Name}
	o.start()
	s.lies, s.whole = append(s.lies, stormFault{Name: next.Name, Victim: o.name, From: now, To: now}), now
	s.t.Logf("%s: %s lies: %s", now.Format(time.TimeOnly), o.name, next.Name)
}

// hears reads the liar's log.
func (s *storm) hears(line string) {
	var said struct {
		Msg, Lie, About string
	}
	if strings.Contains(line, lieTold) && json.Unmarshal([]byte(line), &said) == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.heard[fmt.Sprint(said.Lie, ": ", said.About)] = true
	}
}

// toldOf reports whether each part of a lie was told.
func (s *storm) toldOf(lie liar.Lie) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kind := range lie.About() {
		if !s.heard[fmt.Sprint(lie.Name, ": ", kind)] {
			return false
		}
	}
	return true
}
