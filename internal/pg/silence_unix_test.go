//go:build unix

package pg_test

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// A statement on a session that the server ended for its silence returns a *SilenceError.
func TestASilentSessionKnowsWhyItEnded(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, postmaster.Config{TCP: true})
	for name, url := range map[string]string{"socket": server.URL("postgres"), "TCP": server.TCPURL("postgres")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := pg.Open(t.Context(), pg.Config{URL: url}, pg.Settings{Lease: 200 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			pgtest.Eventually(t, patience, "the server ends the session", func() bool {
				return errors.Is(syscall.Kill(int(s.Conn().PgConn().PID()), 0), syscall.ESRCH)
			})
			_, err = s.Conn().Exec(t.Context(), "SELECT 1")
			err = fmt.Errorf("keep the session: %w", pg.Silenced(err))
			if silence, ok := errors.AsType[*pg.SilenceError](err); !ok || !silence.Silent() || !pg.IsLost(err) || pg.Code(err) != "57P05" {
				t.Errorf("got %v, want a *SilenceError with SQLSTATE 57P05", err)
			}
			says(t, err, "silent for longer than its lease")
		})
	}
	if _, silent := errors.AsType[*pg.SilenceError](pg.Silenced(io.EOF)); silent || pg.Silenced(nil) != nil {
		t.Error("Silenced made a *SilenceError of io.EOF, or an error of nil")
	}
}
