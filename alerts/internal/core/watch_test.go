package core_test

import (
	"testing"
	"time"

	"github.com/conchhq/conch/alerts/internal/core"
	"github.com/conchhq/conch/alerts/internal/tables"
)

func (d *desk) report(name, life string, seq, cries uint64) {
	d.tables.Report(tables.Report{Node: core.Node{Name: name, Life: life, Seq: seq, Cries: cries, Hash: "h"}, Keep: time.Hour}, d.wall())
}

// That the database is away the nodes tell, and that it is back the leader alone: once all are back or gone, and once more when no message of theirs can
// arrive any more.
func TestTheDatabaseIsBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t, rule(core.AwayRule, "pager", "chat"))
	seq := uint64(0)
	go2 := func(span time.Duration, cries uint64, all bool) {
		for end := d.now + span; d.now < end; d.pass(interval) {
			seq++
			if d.report("node-1", "l", seq, 0); all {
				d.report("node-2", "l", seq, cries)
			}
		}
	}
	go2(10*time.Minute, 0, true)
	d.told()
	go2(5*time.Minute, 0, false)
	d.told()
	go2(30*time.Second, 1, true)
	d.told("pager "+core.AwayRule+" over", "chat "+core.AwayRule+" over")
	go2(time.Hour, 1, true)
	d.told("pager " + core.AwayRule + " over")
	go2(9*time.Minute, 1, false) // it may have told, and is killed
	d.told()
	go2(3*time.Minute, 1, false)
	d.told("pager "+core.AwayRule+" over", "pager "+core.AwayRule+" over")
	go2(20*time.Minute, 1, false)
	d.told()
	d.elect() // it knows which nodes are no more, and does not take for granted that the others live
	go2(time.Hour, 1, false)
	d.told()
}

// A new leader waits for a node of which it knows nothing yet.
func TestANewLeaderWaitsForTheLastNode(t *testing.T) {
	t.Parallel()
	d := newDesk(t, rule(core.AwayRule, "pager"))
	d.report("node-1", "l", 1, 0)
	d.report("node-2", "l", 1, 0)
	d.pass(time.Minute)
	d.now += 3 * time.Minute // the database is away
	d.elect()
	for seq := range uint64(20) {
		d.report("node-1", "l", seq+2, 1)
		d.pass(interval)
	}
	d.told()
	d.report("node-2", "l", 2, 1)
	d.pass(interval)
	d.told("pager " + core.AwayRule + " over")
}

// A node that starts again may have told, too: nobody knows.
func TestANodeStartsAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t, rule(core.AwayRule, "pager", "chat"))
	d.report("node-2", "l", 1, 0)
	d.pass(interval)
	d.told()
	d.report("node-2", "m", 1, 0)
	d.pass(interval)
	d.told("pager " + core.AwayRule + " over")
}

// That nobody evaluated is over when somebody does.
func TestSomebodyEvaluatesAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t, rule(core.IdleRule, "pager", "chat", "am"))
	d.pass(time.Minute)
	n := d.tables.Load(d.wall()).Evaluation.N
	if !d.tables.Claim("node-2", n, d.wall()) {
		t.Fatal("no claim")
	}
	d.elect()
	d.told("pager "+core.IdleRule+" over", "chat "+core.IdleRule+" over")
	d.pass(time.Hour)
	d.told("pager " + core.IdleRule + " over")
	d.elect()
	d.told()
}
