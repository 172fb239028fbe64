package mtls_test

import (
	"cmp"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/transport/mtls"
	"github.com/conchhq/conch/transport/transporttest"
)

func TestExerciseRoaming(t *testing.T) {
	t.Parallel()
	for how, run := range map[string]func(t testing.TB, names ...string) map[string]*node{"Pinned": roamers, "Guests": guests} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			transporttest.ExerciseRoaming(t, func(t *testing.T, names ...string) map[string]transporttest.Roamer {
				t.Helper()
				all := map[string]transporttest.Roamer{}
				for name, n := range run(t, names...) {
					all[name] = roamer(n)
				}
				return all
			})
		})
	}
}

func roamer(n *node) transporttest.Roamer {
	return transporttest.Roamer{Roamer: n.Endpoint, Address: n.Addr().String(), Key: n.Fingerprint(), Kill: n.stop}
}

// unhurried is so long that no machine is too busy to show that it lives.
const unhurried = 10 * time.Second

// roamers runs endpoints that pin each other and come and go.
func roamers(t testing.TB, names ...string) map[string]*node {
	t.Helper()
	all := map[string]*node{}
	for _, name := range names {
		all[name] = listen(t, mtls.Config{Self: name, Key: identity(t, name), Roam: true, Keepalive: unhurried})
	}
	for _, n := range all {
		for _, other := range all {
			if n != other {
				n.cfg.Peers = append(n.cfg.Peers, pinned(other))
			}
		}
		n.reload(t)
		n.run(t)
	}
	return all
}

// guests runs endpoints that know each other by a CA alone.
func guests(t testing.TB, names ...string) map[string]*node {
	t.Helper()
	all, ca := map[string]*node{}, authority(t)
	for _, name := range names {
		all[name] = guest(t, ca, name, mtls.Config{})
	}
	return all
}

func guest(t testing.TB, ca *ca, name string, c mtls.Config) *node {
	t.Helper()
	c.Self, c.Roam, c.CA, c.Keepalive = name, true, ca.file, cmp.Or(c.Keepalive, unhurried)
	c.Key, c.Certificate, _ = ca.issue(t, -time.Minute, 10*time.Minute, name)
	n := listen(t, c)
	n.run(t)
	return n
}

// Both connect at once, a thousand times, with messages both ways: one connection is left, and each side is told of one.
func TestBothConnectAtOnce(t *testing.T) {
	t.Parallel()
	times := 100
	if runtest.Whole() {
		times = 1000
	}
	all := roamers(t, "a", "b")
	a, b := all["a"], all["b"]
	transporttest.BothConnectAtOnce(t, roamer(a), roamer(b), times, func() {
		eventually(t, "one connection is left", func() bool { return len(a.Connections("b")) == 1 && len(b.Connections("a")) == 1 })
	})
	if one, two := a.Stats().Peers["b"], b.Stats().Peers["a"]; len(one.Refused)+len(two.Refused) > 0 || one.Received != uint64(5*times) || two.Received != uint64(5*times) {
		t.Errorf("a: %+v,\nb: %+v", one, two)
	}
}
