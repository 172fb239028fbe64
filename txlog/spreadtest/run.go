package spreadtest

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
)

// run is one crowd in its world. Node 0 leads.
type run struct {
	cfg      Config
	w        *world.World
	nodes    []*node
	leader   *txlog.Copy
	byName   map[string]int
	err      error // of an entry that the leader could not make
	records  []txlog.Record
	commits  []time.Duration // by index
	said     uint64          // the index of the newest head
	sayable  time.Duration   // when the leader may say the next one
	delays   [][]time.Duration
	uploads  []map[int]int // by index and node
	asked    uint64
	came     uint64 // records
	doubled  uint64
	refused  int
	bytes    int64
	finished int
}

// Run runs a crowd and returns what came of it. The overlay says with which others each node is connected; node 0 leads. The
// configuration must be valid.
func Run(cfg Config, on [][]int) (Result, error) {
	r := newRun(cfg.WithDefaults(), on)
	for i := range r.cfg.Entries {
		r.w.After(time.Duration(i+1)*r.cfg.Every, r.commit)
	}
	end := time.Duration(r.cfg.Entries+1)*r.cfg.Every + r.cfg.Settle
	for {
		if next, is := r.w.Next(); !is || next > end || r.err != nil || r.finished == r.cfg.Entries*(len(r.nodes)-1) {
			break
		}
		r.w.Step()
	}
	return r.result(), r.err
}

func newRun(cfg Config, on [][]int) *run {
	r := &run{cfg: cfg, w: world.New(cfg.Seed, nil), byName: map[string]int{}}
	g := genesis(nameOf(0))
	r.leader = txlog.NewCopy(g, newTally)
	for i, near := range on {
		n := &node{r: r, index: i, near: near, links: map[int]*world.Stream{}}
		c := follower.Config{Self: nameOf(i), Base: txlog.NewCopy(g, newTally), New: newTally, Seed: r.w.Draw(), Member: i == 0}
		n.m = follower.New(c)
		r.nodes = append(r.nodes, n)
		r.byName[nameOf(i)] = i
		r.w.After(r.w.Between(0, tickEvery), n.begin)
	}
	return r
}

// commit has the leader commit an entry: a majority has stored it.
func (r *run) commit() {
	n := uint64(len(r.records) + 1)
	diff := make([]byte, r.cfg.Size)
	copy(diff, fmt.Sprint(n))
	e := txlog.Entry{Kind: txlog.Executed, Term: 1, Leader: nameOf(0), GoalID: fmt.Sprint(n), Diff: diff}
	record, err := r.leader.Next(e)
	if err != nil {
		r.err = err
		return
	}
	r.records, r.commits = append(r.records, record), append(r.commits, r.w.Now())
	r.delays, r.uploads = append(r.delays, nil), append(r.uploads, map[int]int{})
	r.nodes[0].step(follower.Applied{Records: []txlog.Record{record}})
	r.say()
}

// say has the leader say its newest head: at once, or when it may.
func (r *run) say() {
	last := r.records[len(r.records)-1]
	if r.said == last.Index {
		return
	}
	if now := r.w.Now(); now < r.sayable {
		if now+headEvery > r.sayable { // nothing is planned yet, or it will find nothing to say
			r.w.After(r.sayable-now, r.say)
		}
		return
	}
	r.said, r.sayable = last.Index, r.w.Now()+headEvery
	h := txlog.Head{Position: last.Position(), State: last.State, Member: nameOf(0)}.Sign(leaderKey())
	r.nodes[0].hears(h, 0)
}

// applied notes when a follower has applied an entry.
func (r *run) applied(index uint64) {
	r.finished++
	r.delays[index-1] = append(r.delays[index-1], r.w.Now()-r.commits[index-1])
}

func (r *run) result() Result {
	out := Result{Nodes: len(r.nodes), Refused: r.refused, Steps: r.w.Steps(), Trace: fmt.Sprintf("%016x", r.w.Hash())}
	var all []time.Duration
	for _, d := range r.delays {
		slices.Sort(d)
		if len(d) > 0 {
			out.WorstP99 = max(out.WorstP99, d[len(d)*99/100])
		}
		all = append(all, d...)
	}
	slices.Sort(all)
	out.Applied, out.Missing = len(all), r.cfg.Entries*(len(r.nodes)-1)-len(all)
	if len(all) > 0 {
		out.P50, out.P99, out.Last = all[len(all)/2], all[len(all)*99/100], all[len(all)-1]
	}
	var uploads []int
	for _, by := range r.uploads {
		for i := range r.nodes {
			uploads = append(uploads, by[i])
		}
	}
	slices.Sort(uploads)
	out.Uploads, out.UploadsP99 = uploads[len(uploads)-1], uploads[len(uploads)*99/100]
	each := float64(r.cfg.Entries * (len(r.nodes) - 1))
	out.Pulls, out.Bytes = float64(r.asked)/each, r.bytes/int64(each)
	if r.came > 0 {
		out.Doubled = float64(r.doubled) / float64(r.came)
	}
	ends := 0
	for _, n := range r.nodes {
		ends += len(n.near)
		out.Most = max(out.Most, len(n.near))
		out.MostBytes = max(out.MostBytes, n.bytes/int64(r.cfg.Entries))
	}
	out.Neighbours = float64(ends) / float64(len(r.nodes))
	return out
}

func nameOf(i int) string { return "n" + strconv.Itoa(i) }
