package keeper

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// at returns a time in milliseconds. The grace is 200 ms in these tests.
func at(ms int) fence.Instant { return fence.Instant(time.Duration(ms) * time.Millisecond) }

type turn struct {
	now  int
	in   Input
	want string // the actions, and the next tick
}

// words describes the actions and the next tick.
func words(m *Machine, actions []Action) string {
	var out []string
	for _, a := range actions {
		switch a := a.(type) {
		case Tell:
			text := "tell:" + string(a.Report.Kind)
			if a.Report.Kind == MainExited {
				text += fmt.Sprintf("(%d,%d,%s)", a.Report.Code, a.Report.Signal, a.Report.Cause)
			}
			out = append(out, text)
		case Send:
			out = append(out, fmt.Sprintf("send:%d", a.Number))
		default:
			out = append(out, strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", a), "keeper.")))
		}
	}
	if next := m.Next(); next != 0 {
		out = append(out, fmt.Sprintf("@%d", time.Duration(next).Milliseconds()))
	}
	return strings.Join(out, " ")
}

func TestMachine(t *testing.T) {
	begun := []turn{{0, Deadline{at(1000)}, "start @800"}, {1, Started{PID: 7}, "tell:running @800"}}
	for name, steps := range map[string][]turn{
		"no start without time to end": {
			{0, Deadline{at(200)}, ""}, {0, Deadline{at(201)}, "start @1"},
		},
		"not started": {
			{0, Deadline{at(1000)}, "start @800"}, {1, Failed{"no"}, "tell:unstarted tell:empty quit"},
		},
		"ended before it began":               {{0, End{}, "tell:empty quit"}},
		"told to end before it began":         {{0, Signal{15}, "tell:empty quit"}},
		"interrupted before it began":         {{0, Deadline{at(200)}, ""}, {1, Signal{2}, "tell:empty quit"}, {2, Deadline{at(1000)}, ""}},
		"told something else before it began": {{0, Signal{10}, ""}, {0, Signal{1}, ""}, {0, Deadline{at(1000)}, "start @800"}},
		"killed before it began":              {{0, Kill{}, "tell:empty quit"}},
		"orphaned before it began": {
			{0, Deadline{at(100)}, ""}, {0, Emptied{}, ""}, {0, ConchGone{}, "tell:empty quit"}, {0, Tick{}, ""},
		},
		"deadlines move on, never back": append(begun,
			turn{300, Deadline{at(1400)}, "@1200"}, turn{301, Deadline{at(900)}, "@1200"}, turn{1199, Tick{}, "@1200"},
			turn{1200, Tick{}, "send:15 @1300"}),
		"late: asked, then killed": append(begun,
			turn{800, Tick{}, "send:15 @900"}, turn{899, Tick{}, "@900"}, turn{900, Tick{}, "freeze"},
			turn{901, Swept{3}, "freeze"}, turn{902, Swept{0}, "killall"}, turn{903, Swept{1}, "killall"},
			turn{904, Swept{0}, "@905"}, turn{905, Tick{}, "killall"}, turn{906, Swept{0}, "@908"},
			turn{907, Exited{Signal: 9}, "tell:gone(0,9,late) @908"}, turn{907, Emptied{}, "tell:empty quit"}),
		"an end is never taken back": append(begun,
			turn{800, Tick{}, "send:15 @900"}, turn{801, Deadline{at(5000)}, "@900"}, turn{900, Tick{}, "freeze"}),
		"woken with two deadlines to read": append(begun,
			turn{850, Deadline{at(1040)}, "@840"}, turn{850, Deadline{at(2000)}, "@1800"}, turn{850, Tick{}, "@1800"}),
		"woken with one that is too old": append(begun, turn{850, Deadline{at(1040)}, "@840"}, turn{850, Tick{}, "send:15 @940"}),
		"woken long after the deadline":  append(begun, turn{5000, Tick{}, "send:15 freeze tell:overdue"}),
		"overdue is said once": append(begun,
			turn{900, Tick{}, "send:15 freeze"}, turn{901, Swept{0}, "killall"}, turn{902, Swept{0}, "@903"},
			turn{1000, Tick{}, "killall tell:overdue"}, turn{1001, Swept{0}, "@1003"}, turn{1003, Tick{}, "killall"}),
		"asked to end, in time": append(begun,
			turn{100, End{300 * time.Millisecond}, "send:15 @400"}, turn{150, Exited{Code: 3}, "tell:gone(3,0,ended) @400"},
			turn{150, Emptied{}, "tell:empty quit"}),
		"asked to end, the deadline is nearer": append(begun, turn{700, End{time.Hour}, "send:15 @900"}),
		"asked to end, while deadlines come": append(begun,
			turn{700, End{time.Second}, "send:15 @900"}, turn{800, Deadline{at(1400)}, "@1300"}, turn{801, Deadline{at(1300)}, "@1300"},
			turn{1200, Deadline{at(2000)}, "@1700"}, turn{1699, Tick{}, "@1700"}, turn{1700, Tick{}, "freeze"}),
		"asked to end, and its main process does": append(begun,
			turn{700, End{time.Second}, "send:15 @900"}, turn{750, Exited{}, "tell:gone(0,0,ended) @900"}, turn{800, Deadline{at(1400)}, "@1300"}),
		"killed, whatever deadlines come": append(begun,
			turn{700, End{time.Second}, "send:15 @900"}, turn{750, Kill{}, "freeze"}, turn{800, Deadline{at(1400)}, ""}),
		"asked twice, the shorter counts": append(begun,
			turn{100, End{300 * time.Millisecond}, "send:15 @400"}, turn{110, End{100 * time.Millisecond}, "@210"}, turn{120, End{time.Hour}, "@210"}),
		"killed":                 append(begun, turn{100, Kill{}, "freeze"}),
		"killed while it ends":   append(begun, turn{100, End{time.Hour}, "send:15 @900"}, turn{101, Kill{}, "freeze"}, turn{102, Kill{}, ""}),
		"orphaned: at once":      append(begun, turn{100, ConchGone{}, "freeze"}, turn{101, End{0}, ""}),
		"its own end, and whole": append(begun, turn{100, Exited{Code: 7}, "tell:gone(7,0,) send:15 @200"}, turn{100, Emptied{}, "tell:empty quit"}),
		"its own end, with remains": append(begun,
			turn{100, Exited{Signal: 11}, "tell:gone(0,11,) send:15 @200"}, turn{150, Deadline{at(3000)}, "@200"}, turn{200, Tick{}, "freeze"}),
		"signals pass until the killing": append(begun,
			turn{100, Signal{10}, "send:10 @800"}, turn{101, End{time.Hour}, "send:15 @900"}, turn{102, Signal{10}, "send:10 @900"},
			turn{900, Tick{}, "freeze"}, turn{901, Signal{10}, ""}),
		"who spawns faster than we stop gets no maxStopped": append(begun, turn{100, Kill{}, "freeze"},
			turn{100, Swept{9}, "freeze"}, turn{100, Swept{9}, "freeze"}, turn{100, Swept{9}, "freeze"}, turn{100, Swept{9}, "freeze"},
			turn{100, Swept{9}, "freeze"}, turn{100, Swept{9}, "freeze"}, turn{100, Swept{9}, "freeze"}, turn{100, Swept{9}, "killall"}),
	} {
		t.Run(name, func(t *testing.T) {
			m := NewMachine(Settings{Grace: 200 * time.Millisecond})
			for i, s := range steps {
				if got := words(m, m.Step(at(s.now), s.in)); got != s.want {
					t.Fatalf("step %d, at %d %T: got %q, want %q", i, s.now, s.in, got, s.want)
				}
			}
		})
	}
}

// For any inputs in any order, a started tree is being killed half of the grace before the
// deadline at the latest, and is not reported empty before it is.
func FuzzMachine(f *testing.F) {
	f.Add([]byte{0, 50, 1, 10, 9, 200})
	f.Fuzz(func(t *testing.T, script []byte) {
		m := NewMachine(Settings{Grace: 200 * time.Millisecond})
		now, deadline := 0, 0
		begun, dying, empty := false, false, false
		take := func(in Input) {
			for _, a := range m.Step(at(now), in) {
				switch a := a.(type) {
				case Start:
					if begun || deadline-now <= 200 {
						t.Fatalf("started at %d for a deadline at %d", now, deadline)
					}
					begun = true
				case Freeze, KillAll:
					dying = true
				case Tell:
					if a.Report.Kind == Empty && begun && !empty {
						t.Fatal("the tree is reported empty before it is")
					}
				}
			}
		}
		for i := 0; i+1 < len(script); i += 2 {
			switch v := int(script[i+1]); script[i] % 8 {
			case 0:
				if !dying && (m.state < ending || m.endBy != 0) {
					deadline = max(deadline, now+5*v)
				}
				take(Deadline{at(now + 5*v)})
			case 1:
				take(End{time.Duration(v) * time.Millisecond})
			case 2:
				take(Signal{v})
			case 3:
				if begun {
					take(Exited{Code: v})
				}
			case 4:
				take(Swept{v % 3})
			case 5:
				if v == 0 {
					take(Kill{})
				}
			case 6:
				if begun && v == 1 {
					empty = true
					take(Emptied{})
				}
			case 7:
				for range v { // the alarm is handled when it rings
					now++
					if next := m.Next(); next != 0 && at(now) >= next {
						take(Tick{})
					}
				}
			}
			if begun && !empty && !dying && m.state != over && now > deadline-100 {
				t.Fatalf("at %d nothing is being killed, and the deadline is at %d", now, deadline)
			}
		}
	})
}

func TestGrace(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		asked, lease, heartbeat, late time.Duration
		want                          time.Duration
		says                          string
	}{
		"the shortest lease":            {lease: 200 * ms, want: 50 * ms},
		"the usual lease":               {lease: 3000 * ms, want: 750 * ms},
		"the longest lease":             {lease: 10 * time.Minute, want: 150 * time.Second},
		"slow heartbeats":               {lease: 3000 * ms, heartbeat: 1350 * ms, want: 750 * ms},
		"late at two heartbeats":        {lease: 3000 * ms, late: 1200 * ms, want: 180 * ms},
		"as late as can be":             {lease: 3000 * ms, late: 1040 * ms, want: 20 * ms},
		"too late":                      {lease: 3000 * ms, late: 1039 * ms, says: "by 1ms or more"},
		"hardly accepted":               {lease: 3000 * ms, late: 721 * ms, says: "by 319ms or more"},
		"heartbeats that are too slow":  {lease: 200 * ms, heartbeat: 75 * ms, says: "by 10ms or more"},
		"asked for":                     {asked: 100 * ms, lease: 3000 * ms, want: 100 * ms},
		"the most that can be":          {asked: 1500 * ms, lease: 3000 * ms, want: 1500 * ms},
		"more than half of the lease":   {asked: 1501 * ms, lease: 3000 * ms, says: "1.501s is not between 20ms and 1.5s"},
		"too little":                    {asked: 19 * ms, lease: 3000 * ms, says: "19ms is not between 20ms and 1.5s"},
		"less than none":                {asked: -ms, lease: 3000 * ms, says: "-1ms is not between"},
		"too much for slow heartbeats":  {asked: 1500 * ms, lease: 3000 * ms, heartbeat: 1300 * ms, says: "1.5s is not between 20ms and 840ms"},
		"too much for a late threshold": {asked: 181 * ms, lease: 3000 * ms, late: 1200 * ms, says: "181ms is not between 20ms and 180ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spare := election.Config{Lease: c.lease, Heartbeat: c.heartbeat}.Spare(election.Role{LateThreshold: c.late})
			got, err := Grace(c.asked, c.lease, spare)
			if got != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %s and the error %v", got, err)
			}
		})
	}
}
