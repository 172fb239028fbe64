package worker_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/schedule/internal/worker"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// desk is a machine, and what it has asked for since the last look.
type desk struct {
	*testing.T
	m    *worker.Machine
	now  time.Duration
	acts []worker.Act
}

// begun returns a machine whose post is sure for a minute.
func begun(t *testing.T, slots int) *desk {
	t.Helper()
	d := &desk{T: t, m: worker.New(worker.Settings{Epoch: 7, Slots: slots, Drain: 10 * time.Second}), now: time.Hour}
	d.in(worker.Extended{Until: time.Hour + time.Minute})
	return d
}

// working returns one that has looked, and takes.
func working(t *testing.T, slots int) *desk {
	t.Helper()
	d := begun(t, slots)
	d.in(worker.Seen{}, worker.Acts{})
	d.in(jobs(), worker.Seen{})
	d.wants("look", "take fenced %d", slots, "look", "take %d", slots)
	return d
}

func (d *desk) in(all ...worker.Input) {
	for _, in := range all {
		d.acts = append(d.acts, d.m.Step(d.now, in)...)
	}
}

// after lets time pass, and tells the machine when it wants that.
func (d *desk) after(wait time.Duration) {
	end := d.now + wait
	for due, is := d.m.Due(); is && due <= end; due, is = d.m.Due() {
		before := len(d.acts)
		d.now = max(d.now, due)
		if d.in(worker.Tick{}); len(d.acts) == before {
			if again, is := d.m.Due(); is && again <= d.now {
				d.Fatalf("it is due at %s, and does nothing", due)
			}
		}
	}
	d.now = end
}

// wants compares what the machine has asked for; numbers fill the texts.
func (d *desk) wants(texts ...any) {
	d.Helper()
	var want, got []string
	for i := 0; i < len(texts); i++ {
		text := texts[i].(string)
		args := texts[i+1 : i+1+strings.Count(text, "%")]
		want, i = append(want, fmt.Sprintf(text, args...)), i+len(args)
	}
	for _, a := range d.acts {
		switch a := a.(type) {
		case worker.Take:
			of := "take %d"
			if a.Fenced {
				of = "take fenced %d"
			}
			got = append(got, fmt.Sprintf(of, a.Most))
		case worker.Look:
			got = append(got, "look")
		case worker.Start:
			got = append(got, fmt.Sprintf("start %d", a.Job.ID))
		case worker.Stop:
			got = append(got, fmt.Sprintf("stop %d: %s", a.ID, a.Why))
		case worker.Tell:
			for _, e := range a.Ends {
				got = append(got, fmt.Sprintf("%d is %s", e.ID, e.Outcome))
			}
		}
	}
	if d.acts = nil; !reflect.DeepEqual(got, want) {
		d.Errorf("it wants %q, want %q", got, want)
	}
}

func key(id int64) worker.Key { return worker.Key{ID: id, Attempt: 1} }

// jobs answers a take.
func jobs(ids ...int64) worker.Taken {
	var out worker.Taken
	for _, id := range ids {
		out.Jobs = append(out.Jobs, worker.Job{Key: key(id), Due: noon})
	}
	return out
}

func heard(since time.Time) worker.Woken { return worker.Woken{Since: since} }

func ended(id int64, outcome string) worker.Ended {
	return worker.Ended{End: worker.End{Key: key(id), Outcome: outcome}}
}

// F13: a worker has as many jobs as it has slots. Ends that come while others are told are told together.
func TestWork(t *testing.T) {
	t.Parallel()
	d := working(t, 3)
	d.in(jobs(1, 2, 3))
	d.wants("start %d", 1, "start %d", 2, "start %d", 3)
	d.in(ended(1, worker.Done), ended(2, worker.Failed), ended(3, worker.Dead), worker.Woken{})
	d.wants("1 is done")
	d.in(worker.Told{})
	d.wants("2 is failed", "3 is dead", "take %d", 1)
	d.in(jobs())
	d.wants()
	d.in(worker.Told{}, worker.Woken{})
	d.wants("take %d", 3)
}

// Jobs are taken when the word of them comes, when one is due, when there may be more, and every five seconds.
func TestWhenItTakes(t *testing.T) {
	t.Parallel()
	d := working(t, 3)
	d.in(jobs())
	d.after(5*time.Second - 1)
	d.wants()
	d.after(1)
	d.wants("take %d", 3)
	d.in(worker.Woken{})
	d.wants()
	d.in(jobs())
	d.wants("take %d", 3)
	next := jobs()
	next.Next = 70 * time.Millisecond
	d.in(next)
	d.after(70 * time.Millisecond)
	d.wants("take %d", 3)
	d.in(worker.Missed{Act: worker.Take{}})
	d.after(time.Second)
	d.wants("look")
	d.in(worker.Seen{})
	d.wants("take %d", 3)
}

// What is gone is not looked through again, but for every five seconds, and what was added a little while ago.
func TestFloor(t *testing.T) {
	t.Parallel()
	d := working(t, 300)
	since := func() time.Time {
		t.Helper()
		for _, a := range d.acts {
			if a, is := a.(worker.Take); is {
				d.acts = nil
				return a.Since
			}
		}
		t.Fatalf("nothing is taken: %v", d.acts)
		return time.Time{}
	}
	d.in(heard(noon), jobs(1))
	if got, want := since(), noon.Add(-time.Second); !got.Equal(want) {
		t.Errorf("it takes from %s on, want %s", got, want)
	}
	due := func(at time.Time) worker.Taken {
		out := jobs(at.Unix())
		out.Jobs[0].Due = at
		return out
	}
	low, old := noon.Add(time.Hour), noon.Add(-time.Hour) // of a low priority; that has waited for its lane
	for i, c := range []struct {
		in   []worker.Input
		want time.Time
	}{
		{[]worker.Input{heard(noon), due(low)}, noon},                  // the word came while it was taking
		{[]worker.Input{due(noon.Add(time.Second)), heard(low)}, noon}, // what was heard of may be behind the first ones that were taken
		{[]worker.Input{due(low.Add(time.Minute)), heard(low)}, low},
		{[]worker.Input{heard(low), heard(old), heard(noon), jobs()}, old}, // the oldest counts
		{[]worker.Input{worker.Woken{}, jobs()}, time.Time{}},              // words may have been lost
		{[]worker.Input{heard(low), jobs()}, old},                          // nothing was taken that lies behind it
	} {
		if d.in(c.in...); !since().Equal(c.want) {
			t.Errorf("%d: it takes from another instant on than %s", i, c.want)
		}
	}
	d.in(jobs())
	d.now += 5 * time.Second
	d.in(heard(low), worker.Seen{})
	if got := since(); !got.IsZero() {
		t.Errorf("it takes from %s on, want all", got)
	}
}

// F13: what a worker that led the post before has left is given back: at once if its handlers prove their attempts, else when the act
// door opens. The first attempt is followed by another one without a pause. Of a later epoch nothing is.
func TestGivesBack(t *testing.T) {
	t.Parallel()
	d := begun(t, 3)
	held := worker.Seen{Held: []worker.Held{{Key: key(1), Epoch: 6, Fenced: true}, {Key: key(2), Epoch: 5}, {Key: worker.Key{ID: 3, Attempt: 4}, Epoch: 6, Fenced: true}, {Key: key(4), Epoch: 8}}}
	d.in(held)
	for _, a := range d.acts {
		if tell, is := a.(worker.Tell); is && (tell.Ends[0].Pause != 0 || tell.Ends[1].Pause < 2*time.Second || tell.Ends[1].Pause > 4*time.Second) {
			t.Errorf("the pauses are %s and %s", tell.Ends[0].Pause, tell.Ends[1].Pause)
		}
	}
	d.wants("look", "1 is lost", "3 is lost", "take fenced %d", 1)
	d.in(worker.Told{}, jobs()) // which was asked for before the end was told
	d.wants("take fenced %d", 3)
	next := jobs(1)
	next.Jobs[0].Attempt = 2
	d.in(next)
	d.wants("start %d", 1)
	held.Held = append(held.Held[1:2], worker.Held{Key: next.Jobs[0].Key, Epoch: 7, Fenced: true})
	d.after(time.Second)
	d.in(held)
	d.wants("look")
	d.in(worker.Acts{})
	d.wants("look")
	d.in(held)
	d.wants("2 is lost", "take %d", 1)
	d.in(worker.Told{Held: []worker.Key{key(2)}}, jobs()) // its handler proves it just now
	d.after(time.Second)
	d.wants("2 is lost", "look")
	d.in(worker.Told{}, worker.Seen{Held: held.Held[1:]})
	d.wants("take %d", 2) // it may begin again
}

// What is taken before the act door opens says nothing about the jobs that are left: they are looked through from the oldest on.
func TestFencedTakesLeaveTheFloor(t *testing.T) {
	t.Parallel()
	d := begun(t, 600)
	d.in(worker.Seen{}, jobs(1), worker.Acts{}, worker.Seen{Held: []worker.Held{{Key: key(1), Epoch: 7}}}, worker.Woken{}, worker.Taken{})
	var since []time.Time
	for _, a := range d.acts {
		if a, is := a.(worker.Take); is && !a.Fenced {
			since = append(since, a.Since)
		}
	}
	if len(since) != 2 || !since[0].IsZero() || !since[1].IsZero() {
		t.Errorf("it takes from %v on, want all, twice", since)
	}
}

// A job that is to be tried again soon is not forgotten because of a take that has not seen it.
func TestATakeThatHasNotSeenIt(t *testing.T) {
	t.Parallel()
	d := working(t, 3)
	d.in(jobs(1, 2), worker.Woken{})
	d.acts = nil
	d.in(ended(1, worker.Failed))
	pause := d.acts[0].(worker.Tell).Ends[0].Pause
	d.in(worker.Told{}, jobs()) // the take was carried out before the end
	d.acts = nil
	d.after(pause)
	if _, is := d.acts[len(d.acts)-1].(worker.Take); !is {
		t.Errorf("after %s it wants %v", pause, d.acts)
	}
}

// An attempt that was told while a look was under way is not given back because the look has still seen it.
func TestALookThatHasNotSeenIt(t *testing.T) {
	t.Parallel()
	d := working(t, 3)
	seen := worker.Seen{Held: []worker.Held{{Key: key(1), Epoch: 7}, {Key: key(2), Epoch: 7}}}
	d.in(jobs(1, 2))
	d.wants("start %d", 1, "start %d", 2)
	d.in(ended(1, worker.Done))
	d.wants("1 is done")
	d.after(time.Second)
	d.wants("look")
	d.in(worker.Told{}, seen)
	d.wants()
	d.after(time.Second)
	d.wants("look")
	d.in(seen) // what is still there then was taken without an answer
	d.wants("1 is released")
}

// What was taken without an answer is given back, and counts for nothing. While jobs are being taken nobody looks.
func TestATakeWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	d := working(t, 3)
	d.in(jobs(1))
	d.wants("start %d", 1)
	d.after(time.Second)
	d.wants("look")
	d.in(worker.Woken{})
	d.wants()
	d.in(worker.Seen{Held: []worker.Held{{Key: key(1), Epoch: 7}}})
	d.wants("take %d", 2)
	d.in(worker.Missed{Act: worker.Take{}})
	d.after(time.Second)
	d.wants("look")
	d.in(worker.Seen{Held: []worker.Held{{Key: key(1), Epoch: 7}, {Key: key(2), Epoch: 7}}})
	d.wants("2 is released", "take %d", 1)
}

// A handler stops whose job was cancelled, or whose attempt is over. What it says then is not why it has ended, unless it has done the job.
func TestStops(t *testing.T) {
	t.Parallel()
	d := working(t, 3)
	d.in(jobs(1, 2, 3))
	d.after(time.Second)
	d.acts = nil
	d.in(worker.Seen{Held: []worker.Held{{Key: key(1), Epoch: 7, Cancel: true}, {Key: key(2), Epoch: 7, Cancel: true}}})
	d.wants("stop %d: the job was cancelled", 1, "stop %d: the job was cancelled", 2, "stop %d: the attempt is over", 3)
	d.in(ended(1, worker.Failed))
	d.wants("1 is cancelled")
	d.in(worker.Told{}, ended(2, worker.Done))
	d.wants("take %d", 1, "2 is done")
	d.in(worker.Told{}, ended(3, worker.Failed))
	d.wants("3 is lost")
}

// Handlers stop when the post is no longer sure to be the worker's, and none begins. It tells how they have ended, once.
func TestLate(t *testing.T) {
	t.Parallel()
	d := working(t, 3)
	d.in(jobs(1))
	d.wants("start %d", 1)
	d.in(worker.Extended{Until: d.now + 90*time.Second}, worker.Extended{Until: d.now + 3*time.Second}, worker.Woken{})
	d.now += 80 * time.Second
	d.in(worker.Tick{})
	d.wants("take %d", 2)
	d.now += 10 * time.Second // it stood still
	d.in(jobs(2))
	d.wants("stop %d: the worker's post is no longer sure to be its own", 1, "2 is released")
	d.in(worker.Told{})
	if d.m.Over() {
		t.Error("it is over while a handler runs")
	}
	d.in(ended(1, worker.Failed))
	d.wants("1 is lost")
	d.in(worker.Missed{Act: worker.Tell{}})
	if d.wants(); !d.m.Over() {
		t.Error("it is not over")
	}
}

// A process that was frozen wakes up after its deadline, and hears first that a handler has ended: that one is not stopped, which the
// process has no handler of any more, and its end is told as one that was stopped.
func TestAnEndThatComesLate(t *testing.T) {
	t.Parallel()
	for why, late := range map[string]struct {
		in      worker.Input
		after   time.Duration
		outcome string
	}{"late": {worker.Tick{}, time.Minute, worker.Lost}, "draining": {worker.Drain{}, 20 * time.Second, worker.Released}} {
		d := working(t, 3)
		d.in(jobs(1, 2, 3))
		d.in(late.in)
		d.acts = nil
		d.now += late.after
		d.in(ended(1, worker.Failed))
		d.now++
		d.in(ended(2, worker.Done))
		stops, told := map[int64]int{}, map[int64]string{}
		for _, a := range d.acts {
			switch a := a.(type) {
			case worker.Stop:
				stops[a.ID]++
			case worker.Tell:
				for _, e := range a.Ends {
					told[e.ID] = e.Outcome
				}
			}
		}
		if stops[1] != 0 || stops[2] != 1 || stops[3] != 1 {
			t.Errorf("%s: it stops %v; want 2 and 3 once each, and not 1, which had ended", why, stops)
		}
		if told[1] != late.outcome {
			t.Errorf("%s: it tells %v; want that 1 is %s", why, told, late.outcome)
		}
	}
}

// While something runs it looks each second. What it is telling just now it does not tell anew.
func TestLooks(t *testing.T) {
	t.Parallel()
	d := working(t, 3)
	d.in(jobs(1, 2))
	d.acts = nil
	held := worker.Seen{Held: []worker.Held{{Key: key(1), Epoch: 7}, {Key: key(2), Epoch: 7}}}
	for range 2 {
		d.after(time.Second)
		d.wants("look")
		d.in(held)
	}
	d.after(time.Second)
	d.in(ended(1, worker.Done), held, worker.Missed{Act: worker.Tell{}})
	d.wants("look", "1 is done")
	d.after(time.Second)
	d.wants("1 is done", "look")
	d.in(held, worker.Told{})
	d.wants()
}

// It ends at once where the database says that the post is another's.
func TestAnotherOneHasThePost(t *testing.T) {
	t.Parallel()
	d := working(t, 3)
	d.in(worker.Missed{Act: worker.Take{}, Over: true})
	if d.wants(); !d.m.Over() {
		t.Error("it is not over")
	}
}

// A worker that is to end takes nothing more, and lets its handlers go on for a while. What it stops then does not count.
func TestDrain(t *testing.T) {
	t.Parallel()
	d := working(t, 3)
	d.in(jobs(1, 2), worker.Woken{})
	d.wants("start %d", 1, "start %d", 2, "take %d", 1)
	d.in(worker.Drain{}, jobs(3), ended(2, worker.Done))
	d.wants("3 is released")
	d.in(worker.Told{})
	d.wants("2 is done")
	d.in(worker.Told{})
	d.after(10*time.Second - 1)
	for _, a := range d.acts {
		if _, is := a.(worker.Look); is {
			d.in(worker.Seen{Held: []worker.Held{{Key: key(1), Epoch: 7}}})
		}
	}
	d.acts = nil
	d.after(1)
	d.wants("stop %d: the worker ends", 1)
	d.in(ended(1, worker.Failed))
	d.wants("1 is released")
	d.in(worker.Told{})
	if d.m.Over() {
		return
	}
	if d.in(worker.Seen{}); !d.m.Over() {
		t.Error("it is not over")
	}
}

// What is being taken when a worker is to end is given back before it has ended.
func TestDrainWhileItTakes(t *testing.T) {
	t.Parallel()
	d := working(t, 3)
	if d.in(worker.Drain{}); d.m.Over() {
		t.Error("it is over while it takes")
	}
	d.in(jobs(1))
	d.wants("1 is released")
	if d.in(worker.Told{}); !d.m.Over() {
		t.Error("it is not over")
	}
}

// Pauses grow, and are not the same for two jobs.
func TestPauses(t *testing.T) {
	t.Parallel()
	d := working(t, 3)
	d.in(jobs(1, 2))
	d.acts = nil
	outcome := worker.Failed
	pause := func(k worker.Key) time.Duration {
		d.in(worker.Ended{End: worker.End{Key: k, Outcome: outcome}})
		got := d.acts[len(d.acts)-1].(worker.Tell).Ends[0].Pause
		d.in(worker.Told{})
		return got
	}
	if a, b := pause(key(1)), pause(key(2)); a == b || a < time.Second/2 || a > time.Second || b < time.Second/2 || b > time.Second {
		t.Errorf("the pauses are %s and %s", a, b)
	}
	d.in(worker.Taken{Jobs: []worker.Job{{Key: worker.Key{ID: 1, Attempt: 90}}}})
	d.in(worker.Woken{}, worker.Taken{Jobs: []worker.Job{{Key: worker.Key{ID: 1, Attempt: 90}}}})
	if a := pause(worker.Key{ID: 1, Attempt: 90}); a < 5*time.Minute || a > 10*time.Minute {
		t.Errorf("the pause is %s", a)
	}
	outcome = worker.Released // the gate has refused it: else it would be taken again without end
	d.in(worker.Woken{}, jobs(3))
	if a := pause(key(3)); a < time.Second/2 {
		t.Errorf("the pause is %s", a)
	}
}
