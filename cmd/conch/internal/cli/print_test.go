package cli

import "testing"

// What was in this instant was now, and not 0s ago.
func TestAgo(t *testing.T) {
	t.Parallel()
	for ms, want := range map[int64]string{-3: "now", 0: "now", 40: "40ms ago", 999: "999ms ago", 61234: "1m1.2s ago", 7200000: "2h0m0s ago"} {
		if got := Ago(ms); got != want {
			t.Errorf("%d ms: %q, want %q", ms, got, want)
		}
	}
}
