package stage

import (
	"path/filepath"
	"time"
)

// part is one peer in one configuration.
type part struct {
	peer    string
	variant string        // default or tuned
	how     string        // the configuration in words, for the tables
	lease   time.Duration // how long a dead leader is trusted; 0: while its connection lives
	why     string        // why a tuned part has another lease than the others
	conch   bool
	etcd    bool // its store is etcd, not Postgres
	acks    bool // its acts are acknowledged rows, not lines of the outside file
	tuned   bool
	slow    bool // some faults take a minute, so each is injected less often

	// Intervals of the leader's renewals, and of the followers' attempts; look is 0 if followers are
	// notified or wait in a queue.
	beat, look time.Duration
}

func (p part) name() string { return p.peer + " " + p.variant }

// tunedLease is the lease of every tuned part without a why.
const tunedLease = time.Second

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
		peer: "etcd", variant: "tuned", etcd: true, tuned: true, lease: 2 * time.Second, beat: 2 * time.Second, // interval of keepalives, and of the search for expired leases
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
	pace     = 5 * time.Millisecond // between acts
	members  = 3                    // candidates per part
	scope    = "bench"
	actsFile = "outside.acts"
	idlePace = "1h" // pace of conch's other door, which rests
	ackFiles = "*.acks"
)

// command returns the command line of a candidate.
func (p part) command(self, conch, dir, id string) (program string, args []string) {
	if p.conch {
		ledger, outside := idlePace, pace.String()
		if p.acks {
			ledger, outside = outside, ledger
		}
		return conch, []string{
			"demo-node", "--id", id, "--scope", scope, "--dir", dir, "--lease", p.lease.String(),
			"--ledger-pace", ledger, "--outside-pace", outside,
		}
	}
	args = []string{"--peer", p.peer, "--id", id, "--file", filepath.Join(dir, actsFile), "--pace", pace.String()}
	if p.tuned {
		args = append(args, "--lease", p.lease.String())
	}
	return filepath.Join(filepath.Dir(self), "contender-"+p.peer), args
}
