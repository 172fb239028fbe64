package stage

import (
	"path/filepath"
	"time"
)

// part is one kind of candidate in one configuration.
type part struct {
	peer    string
	variant string        // default or tuned
	how     string        // what that means
	lease   time.Duration // how long a dead leader is believed in; 0: for as long as its connection is
	why     string        // a tuned part has another lease than the others
	conch   bool
	etcd    bool // its store is etcd and not Postgres
	acks    bool // what it does is what it knows to be committed, not the file outside
	tuned   bool
	slow    bool // some faults take a minute: each is done a few times only

	// Its own rhythm: what whoever leads does again and again, and how often the others
	// look whether anybody does. 0: they are told, or wait in a queue.
	beat, look time.Duration
}

func (p part) name() string { return p.peer + " " + p.variant }

// tunedLease is that of every tuned part, unless it says why not.
const tunedLease = time.Second

// parts are all there are.
var parts = []part{
	{
		peer: "conch fenced door", variant: "default", conch: true, acks: true, lease: 3 * time.Second, beat: 600 * time.Millisecond,
		how: "lease 3 s; rows committed under conch.fence()",
	},
	{
		peer: "conch act door", variant: "default", conch: true, lease: 3 * time.Second, beat: 600 * time.Millisecond,
		how: "lease 3 s, strict; a file outside",
	},
	{
		peer: "conch fenced door", variant: "tuned", conch: true, acks: true, tuned: true, lease: tunedLease, beat: 200 * time.Millisecond,
		how: "lease 1 s",
	},
	{
		peer: "conch act door", variant: "tuned", conch: true, tuned: true, lease: tunedLease, beat: 200 * time.Millisecond,
		how: "lease 1 s, strict",
	},
	{
		peer: "river", variant: "default", lease: 15 * time.Second, beat: 5 * time.Second, look: 6 * time.Second,
		how: "elected every 5 to 6 s, for 15 s; not to be set from outside, so there is no tuned one",
	},
	{
		peer: "etcd", variant: "default", etcd: true, slow: true, lease: time.Minute, beat: 20 * time.Second,
		how: "concurrency.Election, session of 60 s; one member",
	},
	{
		peer: "etcd", variant: "tuned", etcd: true, tuned: true, lease: 2 * time.Second, beat: 2 * time.Second, // of keepalives, and of looking for leases that are over
		how: "session of 2 s", why: "a server with etcd's own election timeout grants no less than 2 s",
	},
	{
		peer: "pglock", variant: "default", slow: true, lease: 20 * time.Second, beat: 5 * time.Second, look: 20 * time.Second,
		how: "lease 20 s, heartbeat 5 s; followers look once a lease",
	},
	{
		peer: "pglock", variant: "tuned", tuned: true, lease: tunedLease, beat: 200 * time.Millisecond, look: time.Second,
		how: "lease 1 s, heartbeat 0.2 s",
	},
	{
		peer: "client-go", variant: "default", lease: 15 * time.Second, beat: 2 * time.Second, look: 4400 * time.Millisecond,
		how: "15 s / 10 s / 2 s over a row in Postgres, without ReleaseOnCancel",
	},
	{
		peer: "client-go", variant: "tuned", tuned: true, lease: 2 * time.Second, beat: 300 * time.Millisecond, look: 660 * time.Millisecond,
		how: "2 s / 1.3 s / 0.3 s, ReleaseOnCancel",
		why: "its record tells a renewal in whole seconds: with 1 s a leader in good health would be replaced now and then",
	},
	{
		peer: "poller", variant: "default", slow: true, beat: time.Second, look: 800 * time.Millisecond,
		how: "session advisory lock, tried every 200–800 ms, pinged every 1 s",
	},
	{
		peer: "poller", variant: "tuned", tuned: true, lease: tunedLease, beat: 200 * time.Millisecond, look: 80 * time.Millisecond,
		how: "tried every 20–80 ms, idle_session_timeout 1 s, pinged every 0.2 s",
	},
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
	if p.conch {
		ledger, outside := noTerm, pace.String()
		if p.acks {
			ledger, outside = outside, ledger
		}
		return conch, []string{
			"demo-node", "--id", id, "--scope", scope, "--dir", dir, "--lease", p.lease.String(),
			"--ledger-pace", ledger, "--outside-pace", outside,
		}
	}
	args = []string{"--peer", p.peer, "--id", id, "--file", filepath.Join(dir, outcome), "--pace", pace.String()}
	if p.tuned {
		args = append(args, "--lease", p.lease.String())
	}
	return filepath.Join(filepath.Dir(self), "contender-"+p.peer), args
}
