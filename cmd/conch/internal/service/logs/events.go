package logs

import (
	"log/slog"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/txlog/quorum"
)

// kindEntry names events of entries on /v1/events, and is the parameter that selects those of one log.
const kindEntry = "log.entry"

// EntryEvent is an entry that this node's copy has taken over.
type EntryEvent struct {
	Namespace string `json:"namespace"`
	Entry
}

// teller passes what the hosts of all logs tell on to the log and to streams of events. It is safe for concurrent use.
type teller struct {
	board *web.Board
	log   *slog.Logger

	mu   sync.Mutex
	told map[string]time.Time
}

// What others cause is told now and then; metrics count the rest.
const (
	quietFor  = 10 * time.Minute
	mostQuiet = 256
)

// due reports whether the log is to be told of something that others may cause as often as they like.
func (t *teller) due(what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if at, was := t.told[what]; was && now.Sub(at) < quietFor {
		return false
	}
	if len(t.told) >= mostQuiet || t.told == nil {
		t.told = map[string]time.Time{}
	}
	t.told[what] = now
	return true
}

func (t *teller) tell(r *part, e quorum.Event) {
	switch e := e.(type) {
	case quorum.Applied:
		for _, rec := range e.Records {
			t.board.Tell(web.Notice{Kind: kindEntry, Subject: r.Namespace, Data: EntryEvent{r.Namespace, r.entryOf(rec)}, Size: len(rec.Raw())})
		}
	case quorum.Fetched:
		t.board.Tell(web.Notice{Kind: kindEntry, Subject: r.Namespace, Gap: "this node's copy has come further without each entry being told: GET " + pathLogs + "/" + r.Namespace + "/entries has those that are kept, and another node may have those before"})
		r.log.Info("the copy has come further without each entry being told", slog.Uint64("index", e.Index))
	case quorum.Leads:
		if e.Leader == "" {
			r.log.Info("nobody is known to lead the log", slog.Uint64("term", e.Term))
			return
		}
		r.log.Info("a member leads the log", slog.String("leader", e.Leader), slog.Uint64("term", e.Term), slog.Bool("self", e.Self))
	case quorum.Waits:
		r.log.Info("another member leads while a goal waits", slog.String("goal_id", e.GoalID), slog.String("from", e.From), slog.String("to", e.To))
	case quorum.TimedOut:
		r.log.Warn("a goal had no answer in time, and is tried again", slog.String("goal_id", e.GoalID), slog.String("leader", e.To))
	case quorum.Forked:
		if e.A.Member == "" { // the head that covers what is here is not kept any more
			r.log.Error("a member has signed a head that cannot be true if this node's copy is: a store was restored from a backup and has forgotten what it had promised, or a member lies. This node keeps its copy",
				slog.Uint64("index", e.Index), slog.String("member", e.B.Member), slog.String("hash", e.B.Hash.String()))
			return
		}
		r.log.Error("heads of this log are signed that cannot both be true: a store was restored from a backup and has forgotten what it had promised, or a member lies. This node keeps its copy, and of the first forks both heads as evidence",
			slog.Uint64("index", e.Index), slog.String("one", e.A.Member), slog.String("hash", e.A.Hash.String()), slog.String("other", e.B.Member), slog.String("other_hash", e.B.Hash.String()))
	default:
		t.rare(r, e)
	}
}

func (t *teller) rare(r *part, e quorum.Event) {
	switch e := e.(type) {
	case quorum.Parked:
		if t.due(r.Namespace + " parked") {
			r.log.Warn("entries are known of and do not come", slog.Uint64("have", e.At), slog.Uint64("known", e.Upto), slog.Duration("for", e.For))
		}
	case quorum.Doubted:
		if t.due(r.Namespace + " denied " + e.Head.Member) {
			r.log.Error("a member has signed a head that the leader denies: either it lies, or its key is stolen, or a store was restored from a backup and has forgotten what it had promised. Such heads do not count, and the first ones are kept as evidence",
				slog.String("member", e.Head.Member), slog.Uint64("index", e.Head.Index), slog.String("hash", e.Head.Hash.String()), slog.Uint64("heads", e.Count))
		}
	case quorum.Rebuilt:
		if t.due(r.Namespace + " rebuilt " + e.Why.Error()) {
			r.log.Warn("the copy is made anew from the store", slog.Any("why", e.Why))
		}
	case quorum.Refused:
		if t.due(r.Namespace + " " + e.From + " " + e.Reason) {
			r.log.Warn("what a node has sent is refused", slog.String("peer", e.From), slog.Any("why", e.Why))
		}
	case quorum.FellBehind:
		r.log.Info("this member is so far behind that it fetches entries from the others", slog.Uint64("upto", e.Upto))
	case quorum.Twin:
		if t.due(r.Namespace + " twin") {
			r.log.Error("two processes run with this node's name and key. One of their stores is a member's; the other one is not admitted: stop one of them",
				slog.Uint64("member", e.Store), slog.Uint64("asks", e.Asks))
		}
	case quorum.Member:
		r.log.Info("whether this node is a member of the log", slog.Bool("is", e.Is))
	}
}
