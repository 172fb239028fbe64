package firehouse

import (
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/alerts/internal/core"
)

// The invariants.
const (
	Open  = "open"  // at the end no incident is open, and no text the last one, of what is over
	Told  = "told"  // at the end everybody has been told of what fires, but of a text that may have come twice already
	False = "false" // nothing is told that was not so minutes ago
	Twice = "twice" // no text comes more than twice
	Cut   = "cut"   // that a node cannot ask the database is told each hour while it lasts
)

// margin is how long after a change something may still be told that was so before it.
const margin = 3 * time.Minute

// condition is something that may be wrong.
type condition struct {
	name   string
	rule   string
	labels map[string]string
	key    string // of its group
	is     bool
	since  time.Duration // of that
	hidden bool          // nobody has data of it
	shown  time.Duration // since when it is not hidden
}

// judge knows what is so, and what receivers were told.
type judge struct {
	conditions []*condition
	evaluated  time.Duration            // when a leader has done so last
	resumed    time.Duration            // and for the first time after a while
	silenced   time.Duration            // when somebody has silenced something last, or the silence has ended
	lacking    time.Duration            // when no node has had the first file last
	delay      time.Duration            // of the next message
	ambush     bool                     // the leader stands still when it has recorded that it sends
	open       map[string]bool          // incidents, by key
	last       map[string]core.Message  // texts, by key
	texts      map[[3]any]int           // how often each has come
	unsure     map[string]bool          // keys of which a text was given up
	cutTold    map[string]time.Duration // by node: when the pager heard last that it cannot ask the database
}

func newJudge() judge {
	j := judge{open: map[string]bool{}, last: map[string]core.Message{}, texts: map[[3]any]int{}, unsure: map[string]bool{}, cutTold: map[string]time.Duration{}}
	add := func(name, rule, label, value string, grouped bool) {
		c := &condition{name: name, rule: rule, labels: map[string]string{label: value}}
		group := map[string]string{}
		if grouped {
			group = c.labels
		}
		c.key = core.Key("c", rule, group)
		j.conditions = append(j.conditions, c)
	}
	add("disk-a", disk, "host", "a", false)
	add("disk-b", disk, "host", "b", false)
	add("disk-c", disk, "host", "c", false)
	add("queue-x", queue, "scope", "x", true)
	add("queue-y", queue, "scope", "y", true)
	add("extra", extra, "host", "a", false)
	return j
}

// flips reports how a group is: whether any condition of it is so, or was within the margin; and whether all of that was so for longer.
func (r *run) flips(key string) (recent, long bool) {
	for _, c := range r.conditions {
		if c.key == key {
			young := r.W.Now()-c.since <= margin
			recent = recent || c.is || young || c.hidden || r.W.Now()-c.shown <= margin
			long = long || c.is && !young && !c.hidden && r.W.Now()-c.shown > 2*margin
		}
	}
	return recent, long
}

// sent judges what a leader sends.
func (r *run) sent(n *node, m core.Message) {
	r.Stats["messages"]++
	if m.Rule == core.AwayRule || m.Rule == core.IdleRule {
		return
	}
	recent, long := r.flips(m.Key)
	r.Check(m.Status != core.Firing || recent, False, "%s tells that %s fires, which has been over for long", n.Name, m.Rule)
	gone := m.Rule == extra && r.W.Now()-r.lacking < 10*time.Minute // no node that lives has the rule
	if m.Status == core.Resolved && m.Rule != queue && r.W.Now()-r.silenced > 30*time.Minute && !gone {
		r.Check(!long, False, "%s tells that %s is over, which has been so all the time", n.Name, m.Rule)
	}
}

// arrived notes what a receiver is told.
func (r *run) arrived(n *node, to string, m core.Message) {
	word := map[core.Status]string{core.Firing: "fires", core.Resolved: "is over", core.Passed: "has passed"}[m.Status]
	if to == pager {
		if m.Status == core.Firing && !r.open[m.Key] {
			r.Stats["incidents"]++
		}
		r.tells(pager, "%s %s", m.Rule, word)
		if r.open[m.Key] = m.Status == core.Firing; m.Rule == core.AwayRule && r.open[m.Key] {
			r.cutTold[n.Name] = r.W.Now()
		}
		return
	}
	r.tells(chat, "%s %s", m.Rule, word)
	if r.last[m.Key].Seq <= m.Seq { // people read the newest
		r.last[m.Key] = m
		r.unsure[m.Key] = false
	}
	if m.Rule == core.AwayRule || m.Rule == core.IdleRule {
		return
	}
	at := [3]any{m.Key, m.Seq, m.Status}
	r.texts[at]++
	r.Stats["texts"]++
	if r.texts[at] == 2 {
		r.Stats["twice"]++
	}
	r.Check(r.texts[at] <= 2, Twice, "the text %d of %s has come %d times", m.Seq, m.Rule, r.texts[at])
}

// hear notes what a leader says of itself.
func (r *run) hear(n *node, fact any) {
	if f, is := fact.(core.NotTold); is && f.GivenUp {
		r.Stats["given_up"]++
		r.unsure[f.Message.Key] = true
		n.Tells("does not tell %s once more of %s", f.Receiver, f.Message.Rule)
	}
}

// conclude judges the whole, when nothing has been wrong for long.
func (r *run) conclude() {
	fires := map[string]bool{core.Key("c", core.AwayRule, nil): false, core.Key("c", core.IdleRule, nil): false}
	watched := maps.Clone(fires)
	for _, c := range r.conditions {
		fires[c.key] = fires[c.key] || c.is
	}
	for _, key := range slices.Sorted(maps.Keys(r.open)) {
		r.Check(!r.open[key] || fires[key], Open, "the incident %s is open, and nothing fires", key)
	}
	for _, key := range slices.Sorted(maps.Keys(fires)) {
		if _, is := watched[key]; is {
			continue
		}
		last := r.last[key].Status
		r.Check(!fires[key] || r.open[key], Told, "no incident %s is open, and it fires", key)
		r.Check(!fires[key] || last == core.Firing || r.unsure[key], Told, "the last text of %s is %d, and it fires", key, last)
		r.Check(fires[key] || last != core.Firing || r.unsure[key], Open, "the last text of %s says that it fires, and nothing does", key)
	}
}
