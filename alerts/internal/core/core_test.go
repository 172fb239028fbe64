package core_test

import (
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/alerts/internal/core"
	"github.com/conchhq/conch/alerts/internal/tables"
)

// F9: what is true for long enough is told once, and once that it is over.
func TestAnAlertIsToldOnce(t *testing.T) {
	t.Parallel()
	r := rule("disk", "pager", "chat")
	r.For = time.Minute
	d := newDesk(t, r)
	d.is("disk", "a")
	d.pass(59 * time.Second)
	d.told()
	d.pass(2 * interval)
	d.told("pager disk fires", "chat disk fires")
	d.pass(time.Hour)
	d.told()
	d.is("disk")
	d.pass(2 * interval)
	d.told("pager disk over", "chat disk over")
	d.pass(time.Hour)
	d.told()
	d.is("disk", "a")
	d.pass(59 * time.Second)
	d.is("disk")
	d.pass(time.Hour)
	d.told()
}

// A leader that takes over knows what the last one knew.
func TestANewLeaderGoesOn(t *testing.T) {
	t.Parallel()
	r := rule("disk", "pager")
	r.For = time.Minute
	d := newDesk(t, r)
	d.is("disk", "a")
	d.pass(45 * time.Second)
	d.elect()
	d.pass(2 * interval)
	d.told("pager disk fires")
	d.elect()
	d.pass(10 * time.Minute)
	d.told()
	d.is("disk")
	d.elect()
	d.pass(interval)
	d.told("pager disk over")
}

// If nobody has evaluated for long, nobody knows what was true: what is pending begins anew, and what fires goes on.
func TestAGapRestartsWhatIsPending(t *testing.T) {
	t.Parallel()
	late := rule("late", "pager")
	late.For = 2 * time.Minute
	d := newDesk(t, rule("disk", "pager"), late)
	d.is("disk", "a")
	d.is("late", "a")
	d.pass(interval)
	d.told("pager disk fires")
	d.now += 10 * time.Minute
	d.elect()
	d.pass(time.Minute + 50*time.Second)
	d.told()
	d.pass(30 * time.Second)
	d.told("pager late fires")
}

// What has no answer in time is said again when no copy of it can arrive any more, and not before: to a pager until it answers, as text once.
func TestWhatIsInDoubt(t *testing.T) {
	t.Parallel()
	d := newDesk(t, rule("disk", "pager", "chat"))
	d.answers = core.Doubted
	d.is("disk", "a")
	d.pass(interval)
	d.told("pager disk fires", "chat disk fires")
	d.pass(59 * time.Second)
	d.told()
	d.pass(time.Second)
	d.told("pager disk fires", "chat disk fires")
	d.pass(time.Hour)
	if n := len(d.sent); n < 50 || strings.Contains(strings.Join(d.sent, " "), "chat") {
		t.Errorf("within an hour it tells %d times: %s", n, d.sent)
	}
	d.sent, d.answers = nil, core.Taken
	d.pass(2 * time.Minute)
	d.told("pager disk fires")
	d.pass(time.Hour)
	d.told()
	d.is("disk")
	d.pass(interval)
	d.told("pager disk over", "chat disk over")
}

// What is newer does not wait for what is in doubt, which is settled by the newest once nothing older can arrive.
func TestTheNewestSettlesADoubt(t *testing.T) {
	t.Parallel()
	d := newDesk(t, rule("disk", "pager"))
	d.answers = core.Doubted
	d.is("disk", "a")
	d.pass(interval)
	d.told("pager disk fires")
	d.answers = core.Taken
	d.is("disk")
	d.pass(interval)
	d.told("pager disk over")
	d.pass(2 * time.Minute)
	d.told("pager disk over")
	d.pass(time.Hour)
	d.told()
}

// What the last leader has sent without an answer is said at once, since nobody may know it, and once more when no copy can arrive any more.
func TestALeaderDiesBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	d := newDesk(t, rule("disk", "pager", "chat"))
	d.answers = 0
	d.is("disk", "a")
	d.pass(interval)
	d.told("pager disk fires", "chat disk fires")
	d.elect()
	d.told("pager disk fires", "chat disk fires")
	d.elect()
	d.told("pager disk fires") // the text may have come twice
	d.answers = core.Taken
	d.elect()
	d.pass(59 * time.Second)
	d.told("pager disk fires")
	d.pass(time.Hour)
	d.told("pager disk fires")
}

// Nothing newer is said before the older has its answer, and then the newest alone.
func TestInOrder(t *testing.T) {
	t.Parallel()
	d := newDesk(t, rule("disk", "pager", "chat"))
	d.answers = 0
	d.is("disk", "a")
	d.pass(interval)
	d.told("pager disk fires", "chat disk fires")
	for range 5 {
		d.is("disk")
		d.pass(interval)
		d.is("disk", "b")
		d.pass(interval)
	}
	d.is("disk")
	d.pass(interval)
	d.told()
	d.answer("pager", core.Taken)
	d.answer("chat", core.Taken)
	d.pass(5*time.Minute - time.Second)
	d.told()
	d.pass(2 * time.Second)
	d.told("pager disk over", "chat disk over")
}

// A receiver that cannot be told is tried until it can. What is over by then is one line of text, and nothing to a pager that knows nothing.
func TestNeverGivenUp(t *testing.T) {
	t.Parallel()
	d := newDesk(t, rule("disk", "pager", "chat"), rule("other", "pager", "chat"))
	d.answers = core.Failed
	d.is("disk", "a")
	d.is("other", "a")
	d.pass(time.Hour)
	if n := len(d.sent); n < 200 || n > 300 {
		t.Errorf("within an hour it tries %d times", n)
	}
	d.is("disk")
	d.pass(interval)
	d.sent, d.answers = nil, core.Taken
	d.pass(2 * time.Minute)
	d.told("pager other fires", "chat other fires", "chat disk passed")
	d.pass(time.Hour)
	d.told()
}

// What a receiver does not want as it is, it is told each five minutes: somebody may mend the file.
func TestRefused(t *testing.T) {
	t.Parallel()
	d := newDesk(t, rule("disk", "pager"))
	d.answers = core.Refused
	d.is("disk", "a")
	d.pass(time.Hour)
	if n := len(d.sent); n < 11 || n > 13 {
		t.Errorf("within an hour it tries %d times", n)
	}
}

// What selects nothing changes nothing, and is a member of a rule of its own.
func TestNoData(t *testing.T) {
	t.Parallel()
	gone := rule(core.NoDataRule, "chat")
	gone.For = 15 * time.Minute
	d := newDesk(t, rule("disk", "pager"), gone)
	d.is("disk", "a")
	d.pass(interval)
	d.told("pager disk fires")
	for _, none := range []core.Result{{Rule: "disk", NoData: true}, {Rule: "disk", Fault: "it cannot be read"}} {
		d.results = []core.Result{none}
		d.pass(7 * time.Minute)
		d.told()
	}
	d.pass(3 * time.Minute)
	d.told("chat " + core.NoDataRule + " fires")
	if e := d.tables.Load(d.wall()).Evaluation; e.Troubles["disk"].Fault == "" || d.wall().Sub(e.Troubles["disk"].Since) < 15*time.Minute {
		t.Errorf("the trouble is %+v", e.Troubles)
	}
	d.is("disk")
	d.pass(10 * time.Minute)
	d.told("pager disk over", "chat "+core.NoDataRule+" over")
}

// Of a rule that never had data nobody is told, since the cluster has nothing of what it is about; nor of one that had none for a day, which is
// told anew once it had some again. Each leader knows which those are.
func TestRulesThatNeverHadData(t *testing.T) {
	t.Parallel()
	gone := rule(core.NoDataRule, "chat")
	gone.For = 15 * time.Minute
	d := newDesk(t, rule("disk", "pager"), gone)
	none := []core.Result{{Rule: "disk", NoData: true}}
	d.results = append([]core.Result{}, none...)
	d.pass(time.Hour)
	d.told()
	for range 2 {
		d.is("disk")
		d.pass(interval)
		d.elect()
		d.results = append([]core.Result{}, none...)
		d.pass(16 * time.Minute)
		d.told("chat " + core.NoDataRule + " fires")
		d.pass(24 * time.Hour)
		d.told("chat " + core.NoDataRule + " over")
	}
	if e := d.tables.Load(d.wall()).Evaluation; !e.Troubles["disk"].NoData || len(e.Judged) != 0 {
		t.Errorf("the evaluation is %+v", e)
	}
}

// A rule that this leader's file lacks changes nothing while another node has it.
func TestFilesThatDiffer(t *testing.T) {
	t.Parallel()
	differ := rule(core.DifferRule, "chat")
	d := newDesk(t, rule("disk", "pager"), differ)
	d.is("disk", "a")
	d.pass(interval)
	d.told("pager disk fires")
	report := func(seq uint64, hash string) {
		d.tables.Report(tables.Report{Node: core.Node{Name: "node-2", Life: "l", Seq: seq, Hash: hash}, Keep: time.Hour}, d.wall())
	}
	d.cfg.Rules, d.cfg.Hash = []core.Rule{differ}, "new"
	d.results = nil
	report(1, "h")
	d.elect()
	d.told("chat " + core.DifferRule + " fires")
	for seq := range uint64(40) {
		report(seq+2, "h")
		d.pass(interval)
	}
	d.told()
	report(99, "new")
	d.pass(6 * time.Minute)
	d.told("pager disk over", "chat "+core.DifferRule+" over")
	d.now += 31 * 24 * time.Hour
	d.step(core.Tick{})
	if groups := d.tables.Load(d.wall()).Groups; len(groups) != 0 {
		t.Errorf("after a month there are still %+v", groups)
	}
}

// A group that is made of other labels than its rule says now is one that the file lacks.
func TestAnotherGrouping(t *testing.T) {
	t.Parallel()
	r := rule("disk", "pager")
	d := newDesk(t, r)
	d.is("disk", "a")
	d.pass(interval)
	d.told("pager disk fires")
	r.GroupBy = []string{"host"}
	d.cfg.Rules = []core.Rule{r}
	d.elect()
	d.pass(6 * time.Minute)
	d.told("pager disk fires", "pager disk over")
	if members := d.tables.Load(d.wall()).Members; len(members) != 1 || members[0].Key != core.Key("c", "disk", map[string]string{"host": "a"}) {
		t.Errorf("there are %+v", members)
	}
}

// Thousands at once are one message for each rule and receiver, which names ten. The urgent come first.
func TestThousands(t *testing.T) {
	t.Parallel()
	minor, major := rule("minor", "pager"), rule("major", "pager")
	minor.Severity, major.Severity = "warning", "page"
	d := newDesk(t, minor, major)
	var hosts []string
	for i := range 5000 {
		hosts = append(hosts, strings.Repeat("x", i%7)+string(rune('a'+i/7%26))+string(rune('a'+i/182)))
	}
	d.is("minor", hosts...)
	d.is("major", hosts...)
	d.answers = 0
	d.pass(interval)
	d.told("pager major fires")
	if len(d.message.Members) != 10 || d.message.Others != 4990 {
		t.Errorf("it names %d, and %d more", len(d.message.Members), d.message.Others)
	}
	d.answer("pager", core.Taken)
	d.told("pager minor fires")
}

// Another member is told five minutes after the last message, and so is the end of what began and ended many times.
func TestFlapping(t *testing.T) {
	t.Parallel()
	d := newDesk(t, rule("disk", "chat"))
	d.is("disk", "a")
	d.pass(interval)
	d.told("chat disk fires")
	d.is("disk", "a", "b")
	d.pass(4 * time.Minute)
	d.told()
	d.pass(time.Minute)
	d.told("chat disk fires")
	for range 19 {
		d.is("disk")
		d.pass(30 * time.Second)
		d.is("disk", "a")
		d.pass(30 * time.Second)
	}
	if n := len(d.sent); n > 7 {
		t.Errorf("within 19 minutes it tells %d times: %s", n, d.sent)
	}
}

// What fires on for a while after its condition is false does not end when that comes again.
func TestKeep(t *testing.T) {
	t.Parallel()
	r := rule("disk", "chat")
	r.Keep = time.Minute
	d := newDesk(t, r)
	for range 10 {
		d.is("disk", "a")
		d.pass(interval)
		d.is("disk")
		d.pass(45 * time.Second)
	}
	d.told("chat disk fires")
	d.pass(6 * time.Minute)
	d.told("chat disk over")
}

// Alertmanager forgets what is not told again.
func TestLevel(t *testing.T) {
	t.Parallel()
	d := newDesk(t, rule("disk", "am"))
	d.is("disk", "a")
	d.pass(10*time.Minute + time.Second)
	if n := len(d.sent); n < 10 || n > 12 {
		t.Errorf("within ten minutes it tells %d times", n)
	}
	d.sent = nil
	d.is("disk")
	d.elect()
	d.pass(time.Hour)
	d.told("am disk over")
}

// A key is the group's, whichever leader tells of it and whenever.
func TestKey(t *testing.T) {
	t.Parallel()
	r := rule("disk", "pager")
	r.GroupBy = []string{"host"}
	d := newDesk(t, r)
	d.is("disk", "a")
	d.pass(interval)
	first := d.message
	d.is("disk")
	d.pass(10 * time.Minute)
	d.is("disk", "a")
	d.elect()
	d.pass(interval)
	if d.message.Key != first.Key || d.message.Key != core.Key("c", "disk", map[string]string{"host": "a"}) || d.message.Seq <= first.Seq {
		t.Errorf("the key was %s, number %d, and is %s, number %d", first.Key, first.Seq, d.message.Key, d.message.Seq)
	}
	if core.Key("c", "r", map[string]string{"a": "b", "c": "d"}) == core.Key("c", "r", map[string]string{"a": "b1:c1:d"}) {
		t.Error("two groups have one key")
	}
}

// A leader that has stood still evaluates before it says anything.
func TestALeaderStandsStill(t *testing.T) {
	t.Parallel()
	d := newDesk(t, rule("disk", "pager"), rule("other", "pager"))
	d.answers = 0
	d.is("disk", "a")
	d.is("other", "a")
	d.pass(interval)
	d.told("pager disk fires")
	d.is("disk")
	d.is("other")
	d.now += 5 * time.Minute
	d.answer("pager", core.Failed)
	d.told()
}

// Rows that are read again do not make a doubt younger: else a database that fails now and then keeps it for ever.
func TestADoubtKeepsItsAge(t *testing.T) {
	t.Parallel()
	d := newDesk(t, rule("disk", "pager"))
	d.answers = core.Doubted
	d.is("disk", "a")
	d.pass(interval)
	d.told("pager disk fires")
	d.answers = core.Taken
	for range 4 {
		d.fails = true
		d.pass(interval)
		d.fails = false
		d.pass(2 * time.Second)
	}
	d.told("pager disk fires")
}

// A write that fails loses no answer: a text is not told once more.
func TestAWriteFails(t *testing.T) {
	t.Parallel()
	d := newDesk(t, rule("disk", "pager", "chat"))
	d.answers = 0
	d.is("disk", "a")
	d.pass(interval)
	d.told("pager disk fires", "chat disk fires")
	d.fails = true
	d.answer("chat", core.Taken)
	d.answer("pager", core.Taken)
	d.pass(time.Minute)
	d.fails, d.answers = false, core.Taken
	d.pass(time.Hour)
	d.told()
	d.fails = true
	d.is("disk")
	d.pass(6 * time.Minute)
	d.told() // what is not recorded is not sent
	d.fails = false
	d.pass(interval)
	d.told("pager disk over", "chat disk over")
}
