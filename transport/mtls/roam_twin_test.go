package mtls_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/transport/mtls"
)

// A second process with the identity of one that is connected is refused, and both sides say why: the node that is called
// names both hosts, and the second process learns that it is one of two.
func TestTwins(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	var logA, logTwin bytes.Buffer // read when their nodes have ended
	key, certificate, _ := ca.issue(t, -time.Minute, 10*time.Minute, "b")
	start := func(c mtls.Config, log *bytes.Buffer) (*node, func()) {
		c.Roam, c.CA, c.Keepalive = true, ca.file, time.Second
		c.Log = slog.New(slog.NewTextHandler(log, nil))
		n := listen(t, c)
		n.run(t)
		return n, n.stop
	}
	keyA, certificateA, _ := ca.issue(t, -time.Minute, 10*time.Minute, "a")
	a, endA := start(mtls.Config{Self: "a", Key: keyA, Certificate: certificateA}, &logA)
	b, _ := start(mtls.Config{Self: "b", Key: key, Certificate: certificate}, new(bytes.Buffer))
	twin, endTwin := start(mtls.Config{Self: "b", Key: key, Certificate: certificate}, &logTwin)
	b.Connect("a", a.Addr().String())
	said(t, a, "+b")
	twin.Connect("a", a.Addr().String())
	said(t, twin, "-a")
	eventually(t, "it is counted", func() bool { return a.Stats().Peers["b"].Refused[mtls.Twin] == 1 })
	eventually(t, "the twin has heard that", func() bool {
		got := twin.Stats()
		return got.Gone.Refused[mtls.RefusedUs]+got.Peers["a"].Refused[mtls.RefusedUs] == 1
	})
	if a, b, twin := a.Stats().Twins, b.Stats().Twins, twin.Stats().Twins; a+b != 0 || twin != 1 {
		t.Errorf("the twin counts %d calls of a second process, and the others %d", twin, a+b)
	}
	endA()
	endTwin()
	for _, part := range []string{"reason=twin", "two hosts have its key", "127.0.0.1:"} {
		if !strings.Contains(logA.String(), part) {
			t.Errorf("a does not say %q: %s", part, logA.String())
		}
	}
	if !strings.Contains(logTwin.String(), "two hosts have its key") {
		t.Errorf("the twin is not told: %s", logTwin.String())
	}
}
