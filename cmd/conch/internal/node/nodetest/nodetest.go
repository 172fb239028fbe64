// Package nodetest helps tests of nodes and services: with a log that can be waited for, and
// with a minimal service.
package nodetest

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
)

// Patience is how long a test waits for what must come. It ends only what hangs: a busy machine may take half of it.
const Patience = time.Minute

// Ends waits until a node has ended, and fails the test if it ended with an error.
func Ends(t testing.TB, ended <-chan error) {
	t.Helper()
	pgtest.Within(t, 3*Patience, "the node ends", func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Rereads asks a node to read its configuration again.
func Rereads(t testing.TB, reload chan<- struct{}) {
	t.Helper()
	pgtest.Within(t, Patience, "a reload is begun", func() { reload <- struct{}{} })
}

// Log is a log that can be read while it is written.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// Lines returns what was written.
func (l *Log) Lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(l.text.String(), "\n")
}

// Says waits for a line that contains all parts.
func (l *Log) Says(t testing.TB, parts ...string) {
	t.Helper()
	pgtest.Eventually(t, Patience, "the log says "+strings.Join(parts, ", "), func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for line := range strings.Lines(l.text.String()) {
			all := true
			for _, part := range parts {
				all = all && strings.Contains(line, part)
			}
			if all {
				return true
			}
		}
		return false
	})
}

// Value waits for a line that contains says, and returns the value of a key in it.
func (l *Log) Value(t testing.TB, says, key string) string {
	t.Helper()
	l.Says(t, says)
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if _, after, ok := strings.Cut(line, " "+key+"="); ok && strings.Contains(line, says) {
			return strings.Fields(after)[0]
		}
	}
	t.Fatalf("the key %s is not in a line of the log that says %q", key, says)
	return ""
}

// Find waits until the log matches a pattern, and returns its first submatch.
func (l *Log) Find(t testing.TB, pattern string) string {
	t.Helper()
	var found []string
	pgtest.Eventually(t, Patience, "the log has "+pattern, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		found = regexp.MustCompile(pattern).FindStringSubmatch(l.text.String())
		return found != nil
	})
	return found[1]
}
