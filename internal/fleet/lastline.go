//go:build unix

package fleet

import (
	"strings"
	"sync"
)

// LastLine keeps the last line written to it, which says why a process ended. Of a crash it
// keeps the first line, not the stacks that follow.
type LastLine struct {
	mu      sync.Mutex
	text    string
	crashed bool
	reading sync.Mutex // held while nobody reads
}

// Write never fails.
func (l *LastLine) Write(b []byte) (int, error) {
	l.reading.Lock()
	defer l.reading.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" && !l.crashed {
			l.text = line
			l.crashed = strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:")
		}
	}
	return len(b), nil
}

func (l *LastLine) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text
}
