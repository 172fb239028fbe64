package spool

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reader is what reads a log: it may stop, and it may be gone.
type reader struct {
	mu      sync.Mutex
	stopped chan struct{} // closed when it reads again; nil: it reads
	gone    error
	text    strings.Builder
}

func (r *reader) Write(b []byte) (int, error) {
	if r.stopped != nil {
		<-r.stopped
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone != nil {
		return 0, r.gone
	}
	return r.text.Write(b)
}

func (r *reader) spool() *Spool {
	return New(r, func(lost int) error {
		_, err := fmt.Fprintf(r, "%d lost\n", lost)
		return err
	})
}

const line = "a line of the log\n"

func TestAReaderThatStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &reader{stopped: make(chan struct{})}
		s := r.spool()
		const all = 3 * most
		for i := range all {
			if n, err := s.Write([]byte(line)); n != len(line) || err != nil {
				t.Fatalf("a line is taken with %d %v", n, err)
			}
			if i == 0 {
				synctest.Wait() // the reader stands before all others wait, so that they are lost in one place
			}
		}
		_, _ = s.Write([]byte("\n")) // there is room for it, and it would stand before the word about those that are lost
		close(r.stopped)
		synctest.Wait()
		_, _ = s.Write([]byte("after\n"))
		s.Close(time.Minute)
		got := strings.Count(r.text.String(), line)
		if lost := s.Lost(); lost != uint64(all-got+1) {
			t.Errorf("%d lines are counted as lost, want %d", lost, all-got+1)
		}
		if want := fmt.Sprintf("%d lost\nafter\n", all-got+1); !strings.HasSuffix(r.text.String(), line+want) || got != most+1 {
			t.Errorf("the reader got %d of %d lines and %q, want %q at the end", got, all, r.text.String()[got*len(line):], want)
		}
	})
}

// A reader that is gone, as a full disk is, costs lines and nothing else; those that it gets again follow the word about them.
func TestAReaderThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &reader{gone: errors.New("no space left")}
		s := r.spool()
		for _, text := range []string{"one\n", "two\n", "three\n"} {
			_, _ = s.Write([]byte(text))
			synctest.Wait()
		}
		r.mu.Lock()
		r.gone = nil
		r.mu.Unlock()
		_, _ = s.Write([]byte("four\n"))
		s.Close(time.Minute)
		if got := r.text.String(); got != "3 lost\nfour\n" || s.Lost() != 3 {
			t.Errorf("the reader got %q, and %d lines are counted as lost", got, s.Lost())
		}
	})
}

func TestAnEndWaitsForTheReaderAndNotForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, reads := range []bool{true, false} {
			r := &reader{stopped: make(chan struct{})}
			s := r.spool()
			time.AfterFunc(map[bool]time.Duration{true: time.Second, false: time.Hour}[reads], func() { close(r.stopped) })
			_, _ = s.Write([]byte("last words\n"))
			began := time.Now()
			s.Close(time.Minute)
			took := time.Since(began)
			if reads && (took != time.Second || r.text.String() != "last words\n") || !reads && took != time.Minute {
				t.Errorf("a reader that reads again is %v: the end takes %s", reads, took)
			}
			<-s.over
		}
	})
}
