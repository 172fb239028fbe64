package core

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// How long things take. The receivers' requests end after [Timeout].
const (
	Timeout = 10 * time.Second // of a message; what is not answered by then is in doubt
	late    = time.Minute      // how long after its sending a message may arrive at most
	again   = time.Second      // after the rows could not be read or written

	groupInterval = 5 * time.Minute     // between two messages of a group that fires all the time
	resend        = time.Minute         // what fires is said again to receivers of kind Level
	mended        = 5 * time.Minute     // after a message that was refused
	firstPause    = 5 * time.Second     // after one that has failed
	mostPause     = time.Minute         // later on
	gone          = 10 * time.Minute    // a node that is silent for so long is no more
	remembered    = 24 * time.Hour      // a node that is no more
	forgotten     = 30 * 24 * time.Hour // a group that has ended

	mostNamed = 10 // members in a message
)

// Config is what the core is made for.
type Config struct {
	Cluster   string
	Node      string        // on which it runs
	Interval  time.Duration // between two evaluations
	Hold      time.Duration // how long after its last evaluation a leader may be replaced: its lease
	Hash      string        // of all rules and receivers: nodes with the same one have the same file
	Rules     []Rule
	Receivers []Receiver
}

// Core joins all groups of one leadership.
type Core struct {
	cfg       Config
	rules     map[string]Rule
	receivers map[string]Receiver
	now       time.Duration

	anchored bool
	base     time.Time     // what the database's clock read
	boot     time.Duration // when it did. It is not asked again: a step of it moves nothing
	loaded   bool
	retry    time.Duration // when to load again
	loads    bool          // the rows are being read

	stepped   time.Duration // the last step
	ready     time.Duration // from when on messages are sent: before the first evaluation they may say what is over
	evaluates bool          // the rules are being evaluated
	next      time.Duration
	at        time.Time // of the evaluation under way
	last      Evaluation

	groups   map[string]*group
	silences []silence
	nodes    map[string]*node
	differ   []string // nodes with other rules
	flying   map[string]*flight
	answers  map[spot]answer // that are not recorded for certain
	writes   bool            // the last Out had rows
	out      Out
	changes  Rows
}

type spot struct{ receiver, key string }

type answer struct {
	Answer
	seq uint64
}

// flight is a message that has no answer.
type flight struct {
	key    string
	seq    uint64
	status Status
	sent   time.Duration
}

type group struct {
	Group
	standing map[string]*member
	tellings map[string]*telling
	muted    bool // some of it fires, and a silence keeps all of that from being told
	dirty    bool
}

type member struct {
	Standing
	last  time.Time // the condition was true; not recorded
	round uint64    // of the evaluation in which it was
	dirty bool
}

type telling struct {
	Telling
	since time.Duration // of the doubt; a new leader counts it from its begin, so that nobody compares clocks
	pause time.Duration // until when it is not tried
	fails int
	dirty bool
}

// node is what this leader has seen of a node.
type node struct {
	Node
	moved time.Duration // its number has risen
	lives bool          // that was seen; a new leader does not know it of any
}

// New returns a core that knows nothing yet.
func New(cfg Config) *Core {
	c := &Core{
		cfg: cfg, rules: map[string]Rule{}, receivers: map[string]Receiver{},
		nodes: map[string]*node{}, flying: map[string]*flight{}, answers: map[spot]answer{},
	}
	for _, r := range cfg.Rules {
		c.rules[r.Name] = r
	}
	for _, r := range cfg.Receivers {
		c.receivers[r.Name] = r
	}
	return c
}

// Step takes an input, and returns what is to be done. Any input but [Lost] says that the rows of the last Out are recorded.
func (c *Core) Step(now time.Duration, in Input) Out {
	sent := c.out.To
	c.now, c.out, c.changes = now, Out{}, Rows{}
	if _, failed := in.(Lost); !failed && c.writes {
		clear(c.answers)
	}
	if c.writes = false; now-c.stepped > 2*c.cfg.Interval { // this process has stood still
		c.ready = now + 2*c.cfg.Interval
	}
	c.stepped = now
	switch in := in.(type) {
	case Loaded:
		c.load(in)
	case Evaluated:
		c.evaluated(in)
	case Answered:
		c.answered(in)
	case Lost:
		for _, receiver := range sent { // they were not
			delete(c.flying, receiver)
		}
		c.loaded, c.loads, c.evaluates, c.retry = false, false, false, now+again
	case Unevaluated:
		c.evaluates = false
	case Looks:
		c.next = now
	case Tick:
	}
	c.ask()
	return c.out
}

// ask says what is to be done next.
func (c *Core) ask() {
	if !c.loaded {
		if !c.loads && c.now >= c.retry {
			c.loads, c.out.Load = true, true
		}
		return
	}
	if !c.evaluates && c.now >= c.next {
		c.evaluates, c.at, c.next = true, c.wall(), c.now+c.cfg.Interval
		c.out.Evaluate = c.at
	}
	c.plan()
	c.record()
}

// Due returns when the core wants the time; false while it waits for an answer.
func (c *Core) Due() (time.Duration, bool) {
	if !c.loaded {
		return c.retry, !c.loads
	}
	due, is := c.next, !c.evaluates
	for _, g := range c.groups {
		for _, t := range g.tellings {
			if c.flying[t.Receiver] != nil {
				continue
			}
			if _, at, says := c.says(g, t); says && (!is || at < due) {
				due, is = at, true
			}
		}
	}
	return due, is
}

// wall is what the database's clock has read, as this process counts on from there.
func (c *Core) wall() time.Time {
	return c.base.Add(c.now - c.boot).Truncate(time.Microsecond)
}

// load takes what the rows are for what is known.
func (c *Core) load(in Loaded) {
	if !c.loads {
		return
	}
	if c.loads, c.loaded = false, true; !c.anchored {
		c.anchored, c.base, c.boot = true, in.At, c.now
	}
	c.last = Evaluation{}
	if in.Evaluation != nil {
		c.last = *in.Evaluation
	}
	before := c.groups
	c.groups = map[string]*group{}
	for _, one := range in.Groups {
		c.groups[one.Key] = &group{Group: one, standing: map[string]*member{}, tellings: map[string]*telling{}}
	}
	for _, one := range in.Members {
		if g := c.groups[one.Key]; g != nil {
			m := &member{Standing: one, last: c.last.At} // then it was true, or fired on
			if m.last.After(c.wall()) {
				m.last = c.wall()
			}
			g.standing[one.ID] = m
		}
	}
	for _, one := range in.Tellings {
		if g := c.groups[one.Key]; g != nil {
			c.resume(g, one, before[one.Key])
		}
	}
	c.look(in.Looked)
	for _, g := range c.groups {
		g.muted = g.isMuted()
	}
	c.next, c.ready = c.now, c.now+2*c.cfg.Interval
}

// resume takes up what was told. What has no answer was sent, perhaps, by a leader that is no more: it may arrive until [late] has passed. Of what this
// leader has read before it knows more than the row says.
func (c *Core) resume(g *group, row Telling, before *group) {
	t, was := &telling{Telling: row, since: c.now}, (*telling)(nil)
	if wall := c.wall(); t.At.After(wall) {
		t.At = wall
	}
	if g.tellings[t.Receiver] = t; before != nil {
		was = before.tellings[t.Receiver]
	}
	if was != nil {
		t.since, t.pause, t.fails = was.since, was.pause, was.fails
	}
	if f := c.flying[t.Receiver]; !t.Asked || f != nil && f.key == t.Key && f.seq == t.Seq {
		return
	}
	if a, is := c.answers[spot{t.Receiver, t.Key}]; is && a.seq == t.Seq {
		c.settle(g, t, a.Answer, t.Message.Status, false)
		return
	}
	t.dirty, t.Asked = true, false
	switch kind := c.receivers[t.Receiver].Kind; {
	case was != nil && was.Asked && was.Seq == t.Seq: // its record had no answer, so it was not sent
		t.Tries--
	case kind == Keyed:
		if was == nil || !was.Doubt {
			t.since = c.now
		}
		t.Doubt = true
	case kind == Level:
		t.Told = min(t.Told, g.Seq-1)
	case t.Tries >= mostTries:
		c.giveUp(t, Doubted)
	}
}

// look takes what is read beside the rows.
func (c *Core) look(in Looked) {
	c.silences = compile(in.Silences)
	for _, one := range in.Nodes {
		known := c.nodes[one.Name]
		switch before := c.last.Seen[one.Name]; {
		case known == nil:
			c.nodes[one.Name] = &node{Node: one, moved: c.now, lives: before.Life != one.Life || before.Seq != one.Seq}
		case known.Life != one.Life || known.Seq != one.Seq:
			c.nodes[one.Name] = &node{Node: one, moved: c.now, lives: true}
		}
	}
	maps.DeleteFunc(c.nodes, func(name string, _ *node) bool {
		return !slices.ContainsFunc(in.Nodes, func(n Node) bool { return n.Name == name })
	})
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
		if n := c.nodes[name]; c.isFresh(n) && n.Hash != c.cfg.Hash {
			differ = append(differ, name)
		}
	}
	if !slices.Equal(differ, c.differ) {
		c.differ = differ
		c.tell(Differ{differ})
	}
}

// isFresh reports whether a node has reported something of late.
func (c *Core) isFresh(n *node) bool {
	return c.now-n.moved <= 3*max(c.cfg.Interval, c.cfg.Hold)
}

func (c *Core) tell(fact any) { c.out.Facts = append(c.out.Facts, fact) }

// owns reports whether this leader's file has the rule of a group, and groups it so.
func (c *Core) owns(g *group) bool {
	r, is := c.rules[g.Rule]
	return is && slices.Equal(slices.Sorted(maps.Keys(g.Labels)), sorted(r.GroupBy))
}

func sorted(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// record collects what has changed.
func (c *Core) record() {
	w := &c.changes
	for _, key := range slices.Sorted(maps.Keys(c.groups)) {
		g := c.groups[key]
		if g.dirty {
			g.dirty = false
			w.Groups = append(w.Groups, g.Group)
			c.tell(Changed{g.Group})
		}
		before := len(w.Members)
		for _, m := range g.standing { // there may be thousands, of which few have changed
			if m.dirty {
				m.dirty = false
				w.Members = append(w.Members, m.Standing)
			}
		}
		slices.SortFunc(w.Members[before:], func(a, b Standing) int { return cmp.Compare(a.ID, b.ID) })
		for _, name := range slices.Sorted(maps.Keys(g.tellings)) {
			if t := g.tellings[name]; t.dirty {
				t.dirty = false
				w.Tellings = append(w.Tellings, t.Telling)
			}
		}
	}
	slices.SortFunc(w.Ended, func(a, b Standing) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.ID, b.ID)) })
	if len(w.Groups)+len(w.Members)+len(w.Tellings)+len(w.Gone)+len(w.Ended) > 0 || w.Evaluation != nil {
		c.out.Record, c.writes = w, true
	}
}

// rank is how urgent a rule is, the most urgent first.
func rank(severity string) int {
	switch severity {
	case "page", "critical":
		return 0
	case "error", "high":
		return 1
	case "warning", "":
		return 2
	}
	return 3
}

// order is that in which groups are told: the urgent first, then those that fire for longest.
func (c *Core) order() []*group {
	return slices.SortedFunc(maps.Values(c.groups), func(a, b *group) int {
		return cmp.Or(cmp.Compare(rank(c.rules[a.Rule].Severity), rank(c.rules[b.Rule].Severity)), a.Since.Compare(b.Since), cmp.Compare(a.Key, b.Key))
	})
}
