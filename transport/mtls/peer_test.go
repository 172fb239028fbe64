package mtls

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/internal/pause"
)

// A peer that is away is tried less and less often, down to once a minute; when it connects it is tried at once. However
// long it is away, the log has one line.
func TestAPeerThatIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		p := newPeer("b", "", Config{Log: slog.New(slog.NewTextHandler(&log, nil))}.withDefaults())
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var all []time.Time
		tried := func() []time.Time {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(all)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			p.keep(ctx, func(context.Context) error {
				mu.Lock()
				defer mu.Unlock()
				all = append(all, time.Now())
				return refuse("b", Unreachable, "nobody is there")
			})
		}()
		time.Sleep(time.Hour) // of the bubble
		tries := tried()
		for i := range tries[1:] {
			gap := tries[i+1].Sub(tries[i])
			wait := pause.Doubled(firstPause, i, mostPause)
			if least, most := wait/2-firstPause/2, wait+firstPause; gap < least || gap > most {
				t.Errorf("pause %d is %v, want %v to %v", i+1, gap, least, most)
			}
		}
		if count := len(tries); count < 60 || count > 150 {
			t.Errorf("%d tries in an hour, want about one a minute", count)
		}
		p.heard(&conn{peer: p}, hello{})
		if count := len(tried()) - len(tries); count != 1 {
			t.Errorf("%d tries at the moment the peer was heard, want one", count)
		}
		time.Sleep(time.Second) // the pauses are short again
		if count := len(tried()) - len(tries); count < 3 {
			t.Errorf("%d tries in the second after it was heard, want some", count)
		}
		cancel()
		<-ended
		if lines := strings.Count(log.String(), "nothing can be sent"); lines != 1 {
			t.Errorf("the log has %d lines about it, want one:\n%s", lines, log.String())
		}
	})
}

// A connection that has lasted clears the failures before it; one that breaks at once does not.
func TestAPeerThatComesAndGoes(t *testing.T) {
	t.Parallel()
	for lasts, most := range map[time.Duration]time.Duration{lasting + 1: 2 * firstPause, time.Second: time.Minute + firstPause} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer("b", "", Config{}.withDefaults())
			ctx, cancel := context.WithCancel(t.Context())
			var gap time.Duration
			over, ended := time.Time{}, make(chan struct{})
			go func() {
				defer close(ended)
				p.keep(ctx, func(ctx context.Context) error {
					if !over.IsZero() {
						gap = max(gap, time.Since(over))
					}
					await(ctx, lasts, nil)
					over = time.Now()
					return errors.New("broken")
				})
			}()
			time.Sleep(time.Hour)
			cancel()
			<-ended
			if gap > most || gap < most/4 {
				t.Errorf("the longest pause is %v if connections last %v, want up to %v", gap, lasts, most)
			}
		})
	}
}

// A state is logged when it changes, and counted each time.
func TestRefusalsAreLoggedOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	p := newPeer("b", "", Config{Log: slog.New(slog.NewTextHandler(&log, nil))}.withDefaults())
	for range 100 {
		p.refused(refuse("b", Expired, "x"))
		p.lost(refuse("b", WrongKey, "x"))
	}
	p.refused(refuse("b", OtherCA, "x"))
	if lines := strings.Count(log.String(), "\n"); lines != 3 {
		t.Errorf("the log has %d lines, want 3:\n%s", lines, log.String())
	}
	if s := p.snapshot().Refused; s[Expired] != 100 || s[WrongKey] != 100 || s[OtherCA] != 1 {
		t.Errorf("counted %v", s)
	}
}
