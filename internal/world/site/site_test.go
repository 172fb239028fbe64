package site_test

import (
	"bytes"
	"io"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/site"
	"github.com/conchhq/conch/internal/world/story"
	"github.com/conchhq/conch/internal/world/worldtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// config, book, clerk and simulator are a world of one rule, as small as one can be: who leads writes a line each second, and a line of a deposed
// leader is refused.
type config struct {
	Nodes   int
	Seed    uint64
	Break   string
	Trace   io.Writer
	Telling world.Telling
}

type book struct {
	*site.Site
	clerks []*clerk
	lines  []int64 // the epochs of their writers
	fenced bool
}

type clerk struct {
	*site.Node
	leads bool
	epoch int64
	alarm *site.Alarm
}

func simulator() world.Simulator[config, struct{}] {
	return world.Simulator[config, struct{}]{
		Name: "book", Rules: []world.Rule[config]{{Name: "fence", Invariant: "leader", Why: "a leader that was frozen writes after another one was made"}},
		Flags:    func(f *world.Flags, c *config) { f.Add("seed", &c.Seed, "") },
		Complete: func(c config) config { return simulator().Fill(c, config{Nodes: 3, Seed: 1}) },
		Validate: func(config) error { return nil },
		Run: func(c config) world.Report {
			b := begin(c)
			b.Go(time.Hour, time.Minute, b.EndFaults)
			b.Check(slices.Max(b.lines) == b.lines[len(b.lines)-1], "leader", "the last line is not of the last leader")
			return b.Report()
		},
		Settings: func(c *config) []story.Setting { return []story.Setting{story.Seed(&c.Seed)} },
		Stage:    func(c config) world.Stage { return begin(c) },
	}
}

func begin(c config) *book {
	b := &book{fenced: c.Break == ""}
	of := func(n *site.Node) *clerk { return b.clerks[n.Index] }
	b.Site = site.New(simulator().Begin(c), 3*time.Second, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), site.Wing{
		Starts: func(n *site.Node, _ bool) { of(n).leads = false }, Dies: func(n *site.Node) { of(n).leads = false }, Stepped: func() {},
		Leads: func(n *site.Node) bool { return of(n).leads },
		Lead:  func(n *site.Node) { of(n).leads, of(n).epoch = true, b.Epoch; b.write(of(n)) },
	})
	for _, n := range b.All {
		one := &clerk{Node: n}
		one.alarm = n.NewAlarm(func() { b.write(one) })
		b.clerks = append(b.clerks, one)
		n.Start()
	}
	return b
}

func (b *book) write(c *clerk) {
	c.Ask(func() any {
		if c.epoch != b.Epoch && b.fenced {
			return false
		}
		b.Check(c.epoch == b.Epoch, "leader", "%s writes with epoch %d in epoch %d", c.Name, c.epoch, b.Epoch)
		b.lines = append(b.lines, c.epoch)
		return true
	}, func(answer any) {
		if written, came := answer.(bool); came && !written {
			c.leads = false
		}
		if c.leads {
			c.alarm.Set(c.Boot()+time.Second, true)
		}
	})
}

// End implements story.World.
func (b *book) End() { b.EndFaults() }

// Facts implements story.World.
func (b *book) Facts() []story.Fact {
	return []story.Fact{{Form: "lines", What: "a line was written in the last two seconds", Holds: func(story.Args) (bool, string) { return len(b.lines) > 0, "none was" }}}
}

// The smallest world holds under every fault, and does not without its rule; the same seed is the same run.
func TestTheSmallestWorld(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		worldtest.Clean(t, simulator().Run(config{Nodes: 3, Seed: seed + 1}))
	}
	worldtest.Equal(t, func() world.Report { return simulator().Run(config{Nodes: 3, Seed: 7}) })
	worldtest.Rules(t, simulator(), 3, 20, func(string, *config) {})
}

// A scope has one process at a time that may act: the next act door opens when the deadline of the term before has passed, whatever has become of
// its process. One that goes on after that hears that another one has the scope.
func TestOneActsAtATime(t *testing.T) {
	t.Parallel()
	acts, lost, passed := 0, 0, 0
	for seed := range uint64(20) {
		b := begin(config{Nodes: 3, Seed: seed + 1})
		var all []*site.Term
		b.Lease([]string{"desk"}, func(one *site.Term) site.Tenant {
			if all = append(all, one); one.Epoch != int64(len(all)) || !one.IsNewest() {
				t.Errorf("term %d has epoch %d", len(all), one.Epoch)
			}
			return site.Tenant{
				Extended: func() {}, Passed: func() { passed++ }, Lost: func() { lost++; one.End() },
				Opened: func() {
					acts++
					for _, o := range all {
						b.Check(o == one || !o.Acts || o.Boot() >= o.Deadline, "one acts", "%s may act in term %d, and %s until %s in term %d", one.Name, one.Epoch, o.Name, o.Deadline, o.Epoch)
					}
				},
			}
		})
		b.Go(time.Hour, time.Minute, b.EndFaults)
		worldtest.Clean(t, b.Report())
		if last := all[len(all)-1]; !last.Acts || !last.Lasts() {
			t.Errorf("seed %d: nobody may act in the end", seed+1)
		}
	}
	if acts == 0 || lost == 0 || passed == 0 {
		t.Errorf("%d acted, %d heard of another one, %d deadlines passed", acts, lost, passed)
	}
}

// A story has every word of a site.
func TestAStoryOfASite(t *testing.T) {
	t.Parallel()
	for text, falls := range map[string]bool{
		"expect leader within 5s\nexpect lines within 1s\nfreeze leader for 10s\nexpect another leader within 8s\nrun 10s\n":                                         false,
		"expect leader within 5s\ncut leader for 10s\nexpect another leader within 8s\nkill leader\nexpect another leader within 8s\nstart n1 n2 n3\n":               true,
		"expect leader within 5s\ncall leader old\ncut old for 10s\nexpect another leader within 8s\nkill leader for 5s\nexpect another leader within 8s\nrun 10s\n": false,
		"outage for 10s\nexpect no leader for 9s\nexpect leader within 8s\nahead 1h for 1m\nbehind 30s\nrun 2m\n":                                                    false,
	} {
		var told bytes.Buffer
		r, err := simulator().Tell(config{}, story.Text{File: "site", Text: text}, &told)
		if err != nil {
			t.Fatal(err)
		}
		if (len(r.Violations) > 0) != falls {
			t.Errorf("%+v\n%s", r.Violations, told.String())
		}
	}
}
