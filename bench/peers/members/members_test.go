package main

import (
	"os"
	"slices"
	"testing"
	"time"
)

// TestMain runs a victim, since the program that is started as one is the test's own here.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "victim" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Five members of each library come to know each other, and what they send at rest is counted.
func TestMembersFindEachOther(t *testing.T) {
	t.Parallel()
	var lines []line
	cfg := config{nodes: 5, times: 2, settle: time.Millisecond, rest: 3 * time.Second, say: func(l line) { lines = append(lines, l) }}
	if err := events(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	kinds := make([]string, 0, len(lines))
	for _, l := range lines {
		kinds = append(kinds, l.Kind)
	}
	if want := []string{cold, resting, rested, news, news}; !slices.Equal(kinds, want) {
		t.Fatalf("got %v, want %v", kinds, want)
	}
	if r := lines[2]; r.Messages < 5 || r.Bytes < 100 || r.Seconds < 3 {
		t.Errorf("at rest they send %+v, want a probe of each", r)
	}
	for _, l := range lines[3:] {
		if len(l.Took)+l.Missed != 4 {
			t.Errorf("%d have heard of an event and %d have not, want four together", len(l.Took), l.Missed)
		}
	}
}

// All members that live know of a crash, and not before it.
func TestACrashIsKnownToAll(t *testing.T) {
	t.Parallel()
	var lines []line
	cfg := config{nodes: 4, times: 2, say: func(l line) { lines = append(lines, l) }}
	if err := crashes(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if len(lines) != 3 || lines[0].Kind != cold || lines[1].Kind != crash || lines[2].Kind != crash {
		t.Fatalf("got %+v, want that all know of each other, and two crashes", lines)
	}
	for _, l := range lines[1:] {
		if took := time.Duration(l.Took[0] * float64(time.Millisecond)); took < time.Second || took > patience {
			t.Errorf("a crash was known after %s: the library suspects for some seconds", took)
		}
	}
}
