package alerts

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/internal/pg"
)

// ledger is what this node remembers of receivers that did not take a message: the tables keep who knows what, and not why.
type ledger struct {
	mu     sync.Mutex
	why    map[string]string     // by receiver, of its last message
	failed map[[2]string]failure // by receiver and key
	said   map[string]string     // by what was to be done: the trouble that the log has
}

// failure is a message that was not taken.
type failure struct {
	at  time.Time
	why string
}

func newLedger() *ledger {
	return &ledger{why: map[string]string{}, failed: map[[2]string]failure{}, said: map[string]string{}}
}

// clear forgets what another node may have told since.
func (l *ledger) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.why)
	clear(l.failed)
}

// told returns what has become of a message when it was told last; zero: it was taken, or this node has not told it.
func (l *ledger) told(receiver, key string) failure {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed[[2]string{receiver, key}]
}

// last returns the newest failure of a receiver.
func (l *ledger) last(receiver string) (newest failure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for of, f := range l.failed {
		if of[0] == receiver && f.at.After(newest.at) {
			newest = f
		}
	}
	return newest
}

// heart is the key of a heartbeat, which is no alert.
const heart = ""

// called notes whether a heartbeat was taken, and logs when that has changed.
func (l *ledger) called(log *slog.Logger, receiver string, err error) {
	l.mu.Lock()
	delete(l.failed, [2]string{receiver, heart})
	if err != nil {
		l.failed[[2]string{receiver, heart}] = failure{time.Now(), err.Error()}
	}
	l.mu.Unlock()
	l.complain(log, "call "+receiver, err)
}

// complain logs a trouble when it begins, when its reason becomes another, and when it has ended.
func (l *ledger) complain(log *slog.Logger, what string, err error) {
	now := ""
	if err != nil {
		now = err.Error()
	}
	l.mu.Lock()
	was := l.said[what]
	l.said[what] = now
	l.mu.Unlock()
	switch {
	case now == was:
	case err != nil:
		log.Warn("alerts: cannot "+what+", and it is tried again", slog.String("error", pg.Sentence(err)))
	default:
		log.Info("alerts: can " + what + " again")
	}
}

// note takes an event of an evaluator or a watcher.
func (l *ledger) note(e alerts.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e := e.(type) {
	case alerts.Trouble:
		if receiver, is := strings.CutPrefix(e.What, "tell "); is && e.Why != nil {
			l.why[receiver] = e.Why.Error()
		}
	case alerts.Told:
		delete(l.failed, [2]string{e.Receiver, e.Message.Key})
	case alerts.NotTold:
		l.failed[[2]string{e.Receiver, e.Message.Key}] = failure{time.Now(), l.why[e.Receiver]}
	}
}

// told is the configuration of an evaluator or a watcher that tells this node what happens.
func (s *service) told(u *setup) alerts.Config {
	cfg := u.cfg
	cfg.Notice = func(e alerts.Event) {
		s.ledger.note(e)
		s.log(e)
	}
	return cfg
}

// words of what is told, for logs.
var words = map[alerts.Status]string{alerts.Firing: "firing", alerts.Resolved: "resolved", alerts.Passed: "fired and ended"}

var answers = map[alerts.Answer]string{alerts.Taken: "taken", alerts.Refused: "refused", alerts.Failed: "failed", alerts.Doubted: "doubted"}

func (s *service) log(e alerts.Event) {
	log := s.frame.Log
	switch e := e.(type) {
	case alerts.Changed:
		log.Info("an alert has changed", slog.String("rule", e.Rule), slog.Bool("fires", e.Fires), slog.String("key", e.Key), slog.Uint64("seq", e.Seq))
	case alerts.Told:
		log.Info("a receiver is told of an alert", slog.String("receiver", e.Receiver), slog.String("rule", e.Message.Rule), slog.String("status", words[e.Message.Status]), slog.Uint64("seq", e.Message.Seq))
	case alerts.NotTold:
		log.Warn("a receiver was not told of an alert", slog.String("receiver", e.Receiver), slog.String("rule", e.Message.Rule), slog.String("answer", answers[e.Answer]), slog.Bool("given_up", e.GivenUp))
	case alerts.Differ:
		if len(e.Nodes) > 0 {
			log.Warn("nodes have other alerts or receivers than this one, which evaluates them", slog.Any("nodes", slices.Sorted(slices.Values(e.Nodes))))
		}
	case alerts.Trouble:
		s.ledger.complain(log, e.What, e.Why)
	}
}
