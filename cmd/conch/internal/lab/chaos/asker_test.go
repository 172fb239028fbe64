//go:build unix

package chaos

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// gatekeeper returns a daemon whose gate answers as the test says; no process runs.
func gatekeeper(t *testing.T, say http.HandlerFunc) *daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "gate") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{id: "daemon-1", dir: dir}
	listener, err := net.Listen("unix", d.socket())
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: say, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); _ = os.RemoveAll(dir) })
	return d
}

// outsideCaller runs an asker until enough has happened and returns its acts.
func outsideCaller(t *testing.T, d *daemon, change func(*asker), enough func(*daemonPair) bool) []evidence.Act {
	t.Helper()
	s := &daemonPair{leads: map[string]sighting{}, records: map[string]*Gated{}}
	s.asking, s.stopAsking = context.WithCancel(t.Context())
	s.ask("a scope", d, change)
	pgtest.Eventually(t, 30*time.Second, "enough has happened", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return enough(s)
	})
	s.stopAsking()
	s.askers.Wait()
	return s.record("a scope").Acts
}

func acted(times int) func(*daemonPair) bool {
	return func(s *daemonPair) bool { return len(s.record("a scope").Acts) >= times }
}

const yes = `{"leader":true,"epoch":7,"term":"t","expires_in_ms":%d}`

// A caller acts from a yes until the answer expires, counted from the sending of its question.
func TestACallerStopsWhenItsAnswerExpires(t *testing.T) {
	t.Parallel()
	const life, late = 60, 20 * time.Millisecond // an answer that takes long to arrive
	d := gatekeeper(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/scopes/a scope/gate" || r.URL.RawQuery != "" || r.Header.Get("Authorization") != "Bearer "+secret {
			t.Errorf("got a question for %s with the token %q", r.URL, r.Header.Get("Authorization"))
		}
		<-time.After(late)
		_, _ = fmt.Fprintf(w, yes, life)
	})
	for _, a := range outsideCaller(t, d, func(*asker) {}, acted(3)) {
		told := a.End.Sub(a.Checked)
		if a.Start.Sub(a.Checked) < late || told >= life*time.Millisecond || a.Epoch != 7 || a.Term != "t" || a.Node != "daemon-1" {
			t.Errorf("%+v ended %s after its question was sent", a, told)
		}
	}
}

// An answer that expires too soon is not used, nor is one that says no.
func TestACallerUsesNoAnswerThatIsTooShort(t *testing.T) {
	t.Parallel()
	const life = 300 * time.Millisecond
	var asked atomic.Int32
	d := gatekeeper(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != (url.Values{"for": {"300ms"}}).Encode() {
			t.Errorf("got the query %q, want for=300ms", r.URL.RawQuery)
		}
		switch asked.Add(1) {
		case 1:
			_, _ = fmt.Fprintf(w, yes, 100)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprintf(w, yes, 300)
		case 3:
			_, _ = fmt.Fprint(w, strings.Replace(fmt.Sprintf(yes, 300), "true", "false", 1))
		case 4:
			_, _ = fmt.Fprint(w, "no JSON")
		default:
			_, _ = fmt.Fprintf(w, yes, 300)
		}
	})
	acts := outsideCaller(t, d, func(a *asker) { a.life, a.needs = life, life*8/10 }, acted(1))
	if asked.Load() < 5 || acts[0].End.Sub(acts[0].Start) < life/2 {
		t.Errorf("%d questions and the acts %+v, want 5 questions and a long act", asked.Load(), acts)
	}
}
