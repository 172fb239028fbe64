package stage

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// A fault at a fixed moment of a peer's rhythm would always show its best, or its worst.
func TestFaultsMeetEveryPhase(t *testing.T) {
	t.Parallel()
	for _, p := range parts {
		ends, stalls := p.times(false)
		if ends < 3 || stalls < 3 {
			t.Errorf("%s: got %d and %d faults, want 3 of each", p.name(), ends, stalls)
		}
		for _, n := range []int{ends, stalls} {
			spread(t, p.name()+" is struck", max(p.beat, p.look), n, p.strikeAfter)
			if p.look > 0 {
				spread(t, p.name()+" begins anew", p.look, n, p.anewAfter)
			} else if after := p.anewAfter(n); after != 0 {
				t.Errorf("%s does not poll, but starts again after %s", p.name(), after)
			}
		}
	}
}

// spread requires an instant in every quarter of the rhythm, or in every third if there are three.
func spread(t *testing.T, what string, rhythm time.Duration, n int, after func(int) time.Duration) {
	t.Helper()
	if rhythm <= 0 {
		t.Errorf("%s without a rhythm", what)
		return
	}
	regions := min(n, 4)
	met := map[int]bool{}
	for i := range n {
		met[int(after(i)*time.Duration(regions)/rhythm)] = true
	}
	for region := range regions {
		if !met[region] {
			t.Errorf("%s %d times within %s, and never in part %d of %d", what, n, rhythm, region+1, regions)
		}
	}
}

// Tuned parts with different leases would compare the leases.
func TestTunedPartsHaveOneLease(t *testing.T) {
	t.Parallel()
	for _, p := range parts {
		if !p.tuned {
			continue
		}
		if p.lease != tunedLease && p.why == "" {
			t.Errorf("%s has a lease of %s, and does not say why", p.name(), p.lease)
		}
		if !strings.Contains(p.how, strings.TrimSuffix(p.lease.String(), "s")+" s") {
			t.Errorf("%s has a lease of %s and says %q", p.name(), p.lease, p.how)
		}
		_, args := p.command("/x/peers", "/x/conch", "/x", "node-1")
		if i := slices.Index(args, "--lease"); i < 0 || args[i+1] != p.lease.String() {
			t.Errorf("%s has a lease of %s and is started with %q", p.name(), p.lease, args)
		}
	}
}
