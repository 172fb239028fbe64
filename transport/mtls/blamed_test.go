package mtls

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A peer that is refused, connects, and is refused for the same reason from then on: a line may be left out, since one was written in the last
// minute. The trouble lasts, so the next minute has one.
func TestATroubleThatLastsIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		p := newPeer("north", "", Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
		refusal := &RefusalError{Reason: OtherCA, Err: errors.New("signed by another one")}
		p.refused(refusal)
		p.heard(&conn{}, hello{})
		p.refused(refusal)
		time.Sleep(time.Minute)
		p.refused(refusal)
		time.Sleep(time.Hour)
		p.refused(refusal) // nothing has changed since
		if n := strings.Count(log.String(), "was refused"); n != 2 {
			t.Errorf("%d lines, want 2:\n%s", n, log.String())
		}
	})
}
