package gossip

import (
	"log/slog"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/gossip"
)

// Events of the overlay on /v1/events, and the parameters that select those of one namespace.
const (
	kindLeader = "gossip.leader"
	kindNews   = "gossip.news"
)

// LeaderEvent says that this node suggests another leader, or the same one in another reign.
type LeaderEvent struct {
	At                time.Time `json:"at"`
	Namespace         string    `json:"namespace"`
	Leader            *string   `json:"leader"`
	LeaderFingerprint *string   `json:"leader_fingerprint"`
	LeaderProven      bool      `json:"leader_proven"` // its name; else that is its own word
	Reign             uint64    `json:"reign"`
	Leads             bool      `json:"leads"` // it is this node
	Before            *string   `json:"before"`
	LastedMS          int64     `json:"lasted_ms"` // for which Before was the leader
}

// NewsEvent is a piece of news of another node.
type NewsEvent struct {
	At time.Time `json:"at"`
	Item
}

func leaderEventOf(l gossip.Leader, now time.Time) LeaderEvent {
	e := LeaderEvent{At: now.UTC(), Namespace: l.Namespace, LeaderProven: l.Leader.Proven, Reign: l.Reign, Leads: l.Self, LastedMS: l.Lasted.Milliseconds()}
	if l.Leader != (gossip.Node{}) {
		name, key := called(l.Leader), fingerprint(l.Leader.Subject)
		e.Leader, e.LeaderFingerprint = &name, &key
	}
	if l.Before != (gossip.Node{}) {
		e.Before = new(called(l.Before))
	}
	return e
}

// teller passes what an agent tells on to the log and to streams of events. One goroutine uses it.
type teller struct {
	board *web.Board
	log   *slog.Logger
	clock func() time.Time
	quiet quiet
	twins *twins
	ends  func() bool // reports whether this node is ending

	ground *node.Ground // of the services that share the connections
	first  string       // the namespace of theirs; it is set before anything is told
}

func (t *teller) tell(e gossip.Event) {
	now := t.clock()
	if t.passes(e) {
		return
	}
	switch e := e.(type) {
	case gossip.Leader:
		t.board.Tell(web.Notice{Kind: kindLeader, Subject: e.Namespace, Data: leaderEventOf(e, now)})
		t.changed(e, now)
	case gossip.News:
		t.board.Tell(web.Notice{Kind: kindNews, Subject: e.Namespace, Data: NewsEvent{now.UTC(), Item{
			e.Namespace, e.Topic, called(e.Subject), e.Subject.Proven, fingerprint(e.Subject.Subject), append([]byte{}, e.Body...), e.Age.Milliseconds(),
		}}})
	case gossip.SteppedDown:
		if t.ends() {
			return // that it leads no more is told, and that its own end withdraws it is no news
		}
		t.log.Warn("this node leads no more, and stands back", slog.String("namespace", e.Namespace), slog.Uint64("reign", e.Reign), slog.Any("why", e.Why), slog.Duration("for", e.For))
	case gossip.Refused:
		t.refused(e, now)
	case gossip.Twin:
		t.twins.see(called(e.Subject), now)
		if t.quiet.twins.due(fingerprint(e.Subject.Subject), now) {
			t.log.Error("two hosts have one key, and one of them is not heard: give each an identity of its own",
				slog.String("node", e.Subject.String()), slog.String("one", e.Hosts[0]), slog.String("other", e.Hosts[1]))
		}
	case gossip.Unstored:
		t.log.Error("the disk took nothing more when this node started, so a later start with an older clock may not be heard at once: make room there",
			slog.String("file", e.File), slog.Any("why", e.Why))
	case gossip.Missed:
		t.log.Warn("so much happened in the overlay that some of it is not told", slog.Int("events", e.Events))
		for _, kind := range []string{kindLeader, kindNews} {
			t.board.Tell(web.Notice{Kind: kind, Gap: "so much happened that some of it is not told: GET " + pathNodes + " says how things stand"})
		}
	}
}

// away tells that nobody is suggested while this node takes no part: what it has suggested last may be over, and it would not hear of that.
func (t *teller) away(last gossip.Status) {
	for _, n := range last.Hints {
		t.tell(gossip.Leader{Namespace: n.Namespace, Before: n.Leader, Lasted: n.Tenure})
	}
}

// changed tells the log of another leader, unless it had many such lines lately.
func (t *teller) changed(e gossip.Leader, now time.Time) {
	due, untold := t.quiet.changed(e.Namespace, now)
	if untold > 0 {
		t.log.Warn("the suggested leader has changed so often that not each change is told", slog.String("namespace", e.Namespace), slog.Int("untold", untold))
	}
	if due {
		what := "another leader is suggested"
		if e.Leader == (gossip.Node{}) {
			what = "no leader is suggested any more"
		}
		t.log.Info(what, slog.String("namespace", e.Namespace), slog.String("leader", e.Leader.String()), slog.Uint64("reign", e.Reign),
			slog.Bool("leads", e.Self), slog.String("before", e.Before.String()), slog.Duration("lasted", e.Lasted.Round(time.Millisecond)))
	}
}

// refused names the peer that has sent what was left out, unless the log did so lately. The text of the error may differ
// each time, so it does not count.
func (t *teller) refused(e gossip.Refused, now time.Time) {
	if e.From == "" { // the machine says so once, and no flood of others may hide it
		t.log.Error("this node cannot lead", slog.Any("why", e.Why))
		return
	}
	if !t.quiet.refusals.due(e.From+"\n"+e.Reason, now) {
		return
	}
	t.log.Warn("what a node of the overlay has sent is refused", slog.String("peer", e.From), slog.String("subject", e.Subject.String()),
		slog.String("reason", e.Reason), slog.Any("why", e.Why))
}
