package mtls_test

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/transport/mtls"
)

// lines has what a node logs. It is safe for concurrent use.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// A stranger that shows certificates with a peer's name, wrong in two ways by turns, has the log say each once, and not at each turn.
func TestAStrangerDoesNotFillTheLog(t *testing.T) {
	t.Parallel()
	right, wrong := authority(t), authority(t)
	_, _, fresh := wrong.issue(t, -time.Minute, time.Hour, "north")
	_, _, stale := wrong.issue(t, -time.Hour, -time.Minute, "north")
	var log lines
	a := listen(t, mtls.Config{Self: "a", Key: identity(t, "a"), CA: right.file, Roam: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	a.cfg.Peers = []mtls.Peer{{Name: "north"}}
	a.reload(t)
	a.run(t)
	const turns = 10
	for i := range turns {
		for _, show := range []tls.Certificate{fresh, stale} {
			if link, err := call(t, a, show); err == nil {
				_, _ = link.Read(make([]byte, 1))
			}
		}
		eventually(t, "both are counted", func() bool {
			n := a.Stats().Peers["north"].Refused
			return n[mtls.OtherCA] == uint64(i+1) && n[mtls.Expired] == uint64(i+1)
		})
	}
	if n := log.count("\n"); n > 2 {
		t.Errorf("%d connections have made %d lines, want one for each kind", 2*turns, n)
	}
}
