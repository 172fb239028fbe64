//go:build unix

package agents

import "testing"

// Agreement begins when the last living agent names a leader that lives, and not before: a killed leader is named by all
// for a while.
func TestAgreementIsOfTheLiving(t *testing.T) {
	t.Parallel()
	v := newViews()
	agreed := func(many int, leader string, since int) {
		t.Helper()
		if who, at := v.agreed(many); who != leader || at != 0 && int(at) != since || leader != "" && at == 0 {
			t.Errorf("got %q since %d, want %q since %d", who, at, leader, since)
		}
	}
	for _, agent := range []string{"a", "b", "c"} {
		v.begins(agent)
	}
	agreed(3, "", 0)
	v.names("a", "a", 10)
	v.names("b", "a", 30)
	agreed(3, "", 0)
	v.names("c", "a", 20)
	agreed(3, "a", 30)
	agreed(4, "", 0) // one has not begun

	v.ends("a")
	v.names("a", "a", 40) // said before its death, read after it
	agreed(2, "", 0)
	v.names("b", "c", 50)
	agreed(2, "", 0)
	v.names("c", "c", 45)
	agreed(2, "c", 50)
	v.names("b", "", 60)
	agreed(2, "", 0)
}

func TestNewsIsHeardOnce(t *testing.T) {
	t.Parallel()
	v := newViews()
	v.hears("a", "one", 1)
	v.hears("b", "one", 2)
	v.hears("a", "two", 3)
	if v.faults != nil {
		t.Fatalf("got %v, want no faults", v.faults)
	}
	v.hears("a", "one", 4)
	if len(v.faults) != 1 || v.news["one"]["a"] != 1 {
		t.Errorf("got %v and %v, want one fault, and the first instant", v.faults, v.news)
	}
}
