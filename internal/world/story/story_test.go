package story_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/story"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ring is a world in which the first node that runs leads, a second after the one before it was killed.
type ring struct {
	*world.World
	out    *bytes.Buffer
	nodes  int
	down   map[string]bool
	leader string
	found  []string
}

func kind(out *bytes.Buffer, made **ring) story.Kind {
	r := &ring{out: out, nodes: 3, down: map[string]bool{}}
	*made = r
	var seed uint64
	return story.Kind{
		Settings: []story.Setting{story.Count("nodes", "how many", &r.nodes), story.Seed(&seed)},
		Begin: func() (story.World, error) {
			if r.nodes > 9 {
				return nil, fmt.Errorf("%d nodes: 9 at most", r.nodes)
			}
			r.World = world.New(max(seed, 1), nil)
			r.elects()
			return r, nil
		},
	}
}

func (r *ring) tell(who, what string) { story.Line(r.out, r.Now(), who, what) }

func (r *ring) elects() {
	r.After(time.Second, func() {
		for _, n := range r.Nodes() {
			if !r.down[n] && r.leader == "" {
				r.leader = n
				r.tell(n, "leads")
			}
		}
	})
}

func (r *ring) Step() bool                  { return r.World.Step() && len(r.found) == 0 }
func (r *ring) Violated(which, what string) { r.found = append(r.found, which+": "+what) }
func (r *ring) End()                        { r.tell("the world", "ends") }
func (r *ring) Places() []string            { return []string{"moon"} }
func (r *ring) Leader() string              { return r.leader }
func (r *ring) Node(name string) story.Node { return member{r, name} }
func (r *ring) Cut(l story.Link) error      { return r.link("is cut off", l) }
func (r *ring) Heal(l story.Link) error     { return r.link("is cut off no longer", l) }
func (r *ring) link(what string, l story.Link) error {
	r.tell(strings.Join(l.Nodes, " "), fmt.Sprintf("%s: %s, one way: %v, whole: %v", what, strings.Join(l.Places, " "), l.OneWay, l.Whole))
	return nil
}

func (r *ring) Nodes() (all []string) {
	for i := range r.nodes {
		all = append(all, fmt.Sprintf("node-%d", i+1))
	}
	return all
}

// member is a node of a ring, too hot to be frozen.
type member struct {
	r    *ring
	name string
}

func (m member) Runs() bool    { return !m.r.down[m.name] }
func (m member) Stands() bool  { return false }
func (m member) Freeze() error { return errors.New("is hot") }
func (m member) Thaw()         {}

func (m member) Kill() {
	m.r.tell(m.name, "is killed")
	if m.r.down[m.name] = true; m.r.leader == m.name {
		m.r.leader = ""
		m.r.elects()
	}
}

func (m member) Start() {
	m.r.tell(m.name, "starts")
	m.r.down[m.name] = false
}

func (r *ring) Words() []story.Word {
	return []story.Word{
		{Form: "say NODE TEXT", What: "it says so", Do: func(a story.Args) error { r.tell(a.Node(), a.Text); return nil }},
		{Form: "suspend NODE", What: "it sleeps", Do: func(a story.Args) error { r.tell(a.Node(), "sleeps for "+a.For.String()); return nil }, Lasts: true},
	}
}

func (r *ring) Facts() []story.Fact {
	return []story.Fact{{Form: "down NUMBER", What: "so many are down", Holds: func(a story.Args) (bool, string) {
		down := 0
		for _, is := range r.down {
			if is {
				down++
			}
		}
		return down == a.Number, fmt.Sprintf("%d are", down)
	}}}
}

func play(t *testing.T, text string) (told string, found []string) {
	t.Helper()
	var out bytes.Buffer
	var r *ring
	if _, err := story.Play(story.Text{File: "x.txt", Text: text}, kind(&out, &r), &out); err != nil {
		t.Fatal(err)
	}
	return out.String(), r.found
}

const whole = `# A story of a ring.
nodes 3

expect leader n1 within 2s
       1.00s  node-1    leads
call leader first
at 2s kill leader for 3s
       2.00s  node-1    is killed
expect no leader
expect another leader within 5s
       3.00s  node-2    leads
expect leader node-2 for 1s
say leader hello  world
       4.00s  node-2    hello world
expect down 1
run 2s
       5.00s  node-1    starts
expect leader n2
cut first others from moon
       6.00s  node-1 node-1 node-3 is cut off: moon, one way: false, whole: false
cut n3 for 1s
       6.00s  node-3    is cut off: node-1 node-2 moon, one way: false, whole: true
cut moon to n1
       6.00s  moon      is cut off: node-1, one way: true, whole: false
heal
       6.00s  node-1 node-2 node-3 is cut off no longer: node-1 node-2 node-3 moon, one way: false, whole: true
suspend n2 for 2s
       6.00s  node-2    sleeps for 2s
run 2s
       7.00s  node-3    is cut off no longer: node-1 node-2 moon, one way: false, whole: true
       8.00s  the world ends
`

// What is told of a story can be played again, and is the same: the lines that are indented are no part of it.
func TestPlay(t *testing.T) {
	t.Parallel()
	told, found := play(t, whole)
	if told != whole || len(found) > 0 {
		t.Errorf("it is told so:\n%s\n%v", told, found)
	}
	if again, _ := play(t, told); again != told {
		t.Errorf("played again it is told so:\n%s", again)
	}
}

// A story ends at the first line that does not come true, and says what is so instead.
func TestWhatDoesNotComeTrue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"expect leader":                         "x.txt:1: expected leader, and nobody leads",
		"run 2s\nexpect leader n2 within 3s":    "x.txt:2: expected leader n2 within 3s, and node-1 leads",
		"run 2s\nexpect down 1 within 300ms":    "x.txt:2: expected down 1 within 300ms, and 0 are",
		"run 2s\nkill n1\nexpect leader for 2s": "x.txt:3: expected leader for 2s, and nobody leads",
		"kill leader":                           "x.txt:1: nobody leads",
		"kill n1\nkill n1":                      "x.txt:2: node-1 does not run",
		"start n1":                              "x.txt:1: node-1 runs",
		"freeze n1":                             "x.txt:1: node-1 is hot",
		"kill n1\nfreeze n1":                    "x.txt:2: node-1 does not run",
		"thaw n1":                               "x.txt:1: node-1 does not stand still",
		"run 5s\nat 3s kill n1":                 "x.txt:2: it is 5s already, and the line is of 3s",
	} {
		told, found := play(t, text+"\nsay n1 never told")
		if !slices.Equal(found, []string{story.Expected + ": " + want}) {
			t.Errorf("%q violates %q, want %q", text, found, want)
		}
		if strings.Contains(told, "never told") {
			t.Errorf("after what did not come true it goes on:\n%s", told)
		}
	}
}

// What is written wrongly is found before anything happens: all of it, with the line, the word, and one that may be meant.
func TestFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "x.txt: nothing happens in it",
		"nodes 3":                  "x.txt: nothing happens in it",
		"nodes three\nrun 1s":      `x.txt:1: "three" is no number (nodes NUMBER)`,
		"nodes 12\nrun 1s":         "x.txt: 12 nodes: 9 at most",
		"noeds 3\nrun 1s":          `x.txt:1: there is no word "noeds": is it "nodes"?`,
		"run 1s\nnodes 3":          `x.txt:2: "nodes" is said before anything happens`,
		"run":                      "x.txt:1: TIME is missing",
		"run 5":                    `x.txt:1: "5" is no time: it is one such as 300ms or 5s`,
		"frezze leader":            `x.txt:1: there is no word "frezze": is it "freeze"?`,
		"freeze laeder":            `x.txt:1: there is no node "laeder": is it "leader"? (freeze NODES)`,
		"freeze n4":                `x.txt:1: there is no node "n4": is it "n1"? (freeze NODES)`,
		"freeze n1 for ever":       `x.txt:1: "ever" is no time: it is one such as 300ms or 5s`,
		"say n1 x\nrunn 1s":        `x.txt:2: there is no word "runn": is it "run"?`,
		"start n1 for 1s":          `x.txt:1: "start NODES" has no end: leave "for" out`,
		"suspend n1":               "x.txt:1: TIME is missing (suspend NODE for TIME)",
		"kill":                     "x.txt:1: NODES is missing (kill NODES)",
		"kill n1 now":              `x.txt:1: "now" is too much (kill NODES)`,
		"cut n1 of n2":             `x.txt:1: "of" is too much (cut NODES [from PLACES])`,
		"expect":                   "x.txt:1: the fact is missing: it is one of leader, another, no, down",
		"expect ledaer":            `x.txt:1: there is no fact "ledaer": is it "leader"?`,
		"expect down few":          `x.txt:1: "few" is no number (down NUMBER)`,
		"expect no two":            `x.txt:1: "two" is not "leader" (no leader)`,
		"at 3s":                    "x.txt:1: what happens at 3s?",
		"at once kill n1":          `x.txt:1: "once" is no time: it is one such as 300ms or 5s`,
		"at 1s at 2s kill n1":      `x.txt:1: "at" stands at the begin of a line`,
		"kill old\ncall n1 old":    `x.txt:1: there is no node "old"`,
		"call all old":             `x.txt:1: there is no node "all"`,
		"kil n1\nrun 1s\nexpekt x": "x.txt:3: there is no word \"expekt\": is it \"expect\"?",
	} {
		var r *ring
		err := story.Check(story.Text{File: "x.txt", Text: text}, kind(nil, &r))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q has the fault %v, want %s", text, err, want)
		}
	}
}
