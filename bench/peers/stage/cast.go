package stage

import (
	"path/filepath"
	"time"
)

// part is one kind of candidate in one configuration.
type part struct {
	peer    string
	variant string // default or tuned
	how     string // what that means
	etcd    bool   // its store is etcd and not Postgres
	acks    bool   // what it does is what it knows to be committed, not the file outside
	lease   string // conch's
	tuned   bool
}

func (p part) name() string { return p.peer + " " + p.variant }

// parts are all there are.
var parts = []part{
	{peer: "conch fenced door", variant: "default", how: "lease 3 s; rows committed under conch.fence()", acks: true, lease: "3s"},
	{peer: "conch act door", variant: "default", how: "lease 3 s, strict; a file outside", lease: "3s"},
	{peer: "conch fenced door", variant: "tuned", how: "lease 1 s", acks: true, lease: "1s", tuned: true},
	{peer: "conch act door", variant: "tuned", how: "lease 1 s, strict", lease: "1s", tuned: true},
	{peer: "river", variant: "default", how: "elect every 5 s, lease 15 s; not to be set from outside, so there is no tuned one"},
	{peer: "etcd", variant: "default", how: "concurrency.Election, session of 60 s; one member", etcd: true},
	{peer: "etcd", variant: "tuned", how: "session of 3 s", etcd: true, tuned: true},
	{peer: "pglock", variant: "default", how: "lease 20 s, heartbeat 5 s"},
	{peer: "pglock", variant: "tuned", how: "lease 3 s, heartbeat 0.6 s", tuned: true},
	{peer: "client-go", variant: "default", how: "15 s / 10 s / 2 s over a row in Postgres"},
	{peer: "client-go", variant: "tuned", how: "3 s / 2 s / 0.5 s, ReleaseOnCancel", tuned: true},
	{peer: "poller", variant: "default", how: "session advisory lock, tried every 200–800 ms, pinged every 1 s"},
	{peer: "poller", variant: "tuned", how: "tried every 20–80 ms, idle_session_timeout 3 s, pinged every 0.6 s", tuned: true},
}

const (
	pace     = 5 * time.Millisecond // from one act to the next
	members  = 3                    // candidates of each kind
	scope    = "bench"
	outcome  = "outside.acts"
	noTerm   = "1h" // a pace at which conch's other door is at rest
	ackFiles = "*.acks"
)

// command is the line that starts a candidate.
func (p part) command(self, conch, dir, id string) (program string, args []string) {
	if p.lease != "" {
		ledger, outside := noTerm, pace.String()
		if p.acks {
			ledger, outside = outside, ledger
		}
		return conch, []string{
			"demo-node", "--id", id, "--scope", scope, "--dir", dir, "--lease", p.lease,
			"--ledger-pace", ledger, "--outside-pace", outside,
		}
	}
	args = []string{"--peer", p.peer, "--id", id, "--file", filepath.Join(dir, outcome), "--pace", pace.String()}
	if p.tuned {
		args = append(args, "--tuned")
	}
	return filepath.Join(filepath.Dir(self), "contender-"+p.peer), args
}
