package outage_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/cmd/conch/internal/outage"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/internal/pg"
)

func teller(log *bytes.Buffer) *outage.Teller {
	return &outage.Teller{Log: slog.New(slog.NewTextHandler(log, nil)), Scopes: func() []string { return []string{"payments"} }}
}

// An outage is logged at once, then every ten seconds, and once when it is over. (S21)
func TestADatabaseThatIsAwayIsLoud(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		e := teller(&log).Events()
		e.Beat(election.Heartbeat{})
		for range 35 {
			e.Fact(election.Fact{Kind: election.Retrying, Err: errors.New("connection refused")})
			e.Attempt(election.Bidding{Err: errors.New("no")})
			<-time.NewTimer(time.Second).C
		}
		if n := strings.Count(log.String(), "DATABASE UNREACHABLE"); n != 4 {
			t.Errorf("%d complaints in 35 s, want 4", n)
		}
		for _, part := range []string{"level=ERROR", "role=FOLLOWER", "payments", "stale_for=30s", "connection refused"} {
			if !strings.Contains(log.String(), part) {
				t.Errorf("the log does not say %q:\n%s", part, log.String())
			}
		}
		for range 2 {
			e.Beat(election.Heartbeat{})
		}
		if n := strings.Count(log.String(), "database recovered"); n != 1 {
			t.Errorf("the recovery is logged %d times, want once", n)
		}
	})
}

func TestTheElectorsOwnComplaintsAreHushed(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	log := outage.Hushed(slog.New(slog.NewTextHandler(&text, nil))).With("a", 1).WithGroup("g")
	log.Error("bid failed")
	log.Warn("leadership lost")
	if s := text.String(); strings.Contains(s, "bid") || !strings.Contains(s, "lost") {
		t.Errorf("the log says %q, want the warning without the error", s)
	}
}

// A bid that fails is no outage: the database answered, and its next answer is no recovery.
func TestABidThatFailsIsNoOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		e := teller(&log).Events()
		for range 15 {
			for _, scope := range []string{"a", "b"} {
				e.Fact(election.Fact{Kind: election.Retrying, Scope: scope, Err: errors.New("permission denied")})
			}
			e.Beat(election.Heartbeat{})
			<-time.NewTimer(time.Second).C
		}
		if s := log.String(); strings.Contains(s, "DATABASE") || strings.Contains(s, "recovered") || strings.Count(s, "BID FAILED") != 2 ||
			!strings.Contains(s, "permission denied") || !strings.Contains(s, "scope=a") {
			t.Error(s)
		}
	})
}

// A follower that never bids takes the age of its view from the last news of the holder.
func TestAFollowersViewIsAsOldAsWhatItHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		e := teller(&log).Events()
		e.Fact(election.Fact{Kind: election.Following, Scope: "payments", Holder: "other"})
		<-time.NewTimer(7 * time.Second).C
		e.Fact(election.Fact{Kind: election.Retrying, Err: errors.New("gone")})
		if !strings.Contains(log.String(), "stale_for=7s") {
			t.Error(log.String())
		}
	})
}

// A process that was silent for too long has lost its session, which is no outage.
func TestSilenceIsNoOutage(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	e := teller(&log).Events()
	e.Fact(election.Fact{Kind: election.Retrying, Err: fmt.Errorf("keep the session: %w", pg.Silenced(&pgconn.PgError{Code: "57P05"}))})
	e.Beat(election.Heartbeat{})
	if log.Len() > 0 {
		t.Error(log.String())
	}
	e.Fact(election.Fact{Kind: election.Retrying, Err: pg.Silenced(&pgconn.PgError{Code: "57P01"})})
	if !strings.Contains(log.String(), "DATABASE UNREACHABLE") {
		t.Error("the shutdown of the server is not logged")
	}
}

// A database that answers, while a table is locked, is not called unreachable.
func TestALockedTableIsNoOutage(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	teller(&log).Events().Fact(election.Fact{Kind: election.Retrying, Err: &pg.LockedError{Locks: []pg.TableLock{{PID: 7, App: "report", Tables: "conch.heartbeat"}}}})
	if s := log.String(); !strings.Contains(s, "TABLES LOCKED") || !strings.Contains(s, "pg_terminate_backend(7)") || strings.Contains(s, "UNREACHABLE") {
		t.Errorf("the log says %q, want the lock to be blamed", s)
	}
}
