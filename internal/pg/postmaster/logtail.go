package postmaster

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
)

const logTailSize = 16 << 10

// logTail passes the server's log on to a writer and keeps its end.
type logTail struct {
	mu   sync.Mutex
	kept []byte
	to   io.Writer
}

func (t *logTail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - logTailSize; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	if t.to != nil {
		// On an error os/exec would close the pipe, and the server would die of SIGPIPE.
		_, _ = t.to.Write(p)
	}
	return len(p), nil
}

// reason returns the last line of the log that says why the server gave up.
func (t *logTail) reason() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(t.kept), []byte("\n"))
	for _, raw := range slices.Backward(lines) {
		line := string(raw)
		if strings.Contains(line, "FATAL:") || strings.Contains(line, "PANIC:") {
			return line
		}
	}
	return string(lines[len(lines)-1])
}
