//go:build unix

package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/election"
)

// Config describes a measurement.
type Config struct {
	// Program is the binary of workers and holders.
	Program string
	// Conch is the binary of nodes, for the benches of their services.
	Conch string
	// Devnode is the binary of the chain's node, for the bench pending.
	Devnode string
	// Members is the binary that runs other libraries of the kind of gossip; empty: nothing is beside conch's own figures.
	Members string
	// Etcd is the binary that runs etcd; empty: it is not beside conch's log.
	Etcd string
	// River is the binary that runs River; empty: it is not beside conch's jobs.
	River string
	// Browser is the program of a browser; empty: what only a browser can tell is left out.
	Browser string
	// Database is the URL of the server to measure on; empty: a private server.
	Database string
	Lease    time.Duration // default 3 s
	Quick    bool          // a few samples of each, for a test run
	Only     []string      // parts of the bench pending, as in Parts; empty: all
	// Say prints a line of progress.
	Say func(format string, args ...any)
}

// Hidden subcommands of the binary.
const (
	NodeCommand   = "demo-node"
	HolderCommand = "bench-holder"
	AgentCommand  = "bench-agent"
	MemberCommand = "bench-member"
)

const scope = "bench"

// amounts has the number and duration of each measurement.
type amounts struct {
	kills, handoffs, stalls int
	rounds                  int           // pairs of the fence
	slice                   time.Duration // each half of a pair
	loop                    time.Duration // one timing of the gate
	rest                    time.Duration // counting of statements
	intents, sendings       int           // per run of an account, and runs
	singles, failovers      int           // intents at rest, and kills of the leading node
	finished                int           // transactions of a long history
	accounts                int           // of a node at rest
	files, filings          int           // of several chunks, per round, and rounds
	smallFiles              int
	scopes                  []int
	users, payRounds        int           // of a contract, and pairs of paying
	paying, living          time.Duration // of users, and of those beside a dead one
	strikes                 int           // coordinators stopped
	contracts, busy         int           // of one node, and those in which something happens
	parties                 int           // most organisations of a contract whose payments land
	payers                  int           // users of such a contract
	payments, landings      int           // of those users, per round, and pairs of rounds
	restful, deaths         int           // payments at rest, and coordinators killed
	committees              []int         // of which messages are counted
	crowd, electors, crowds int           // agents of gossip, those that may lead, and pairs of runs
	crashes, news           int           // leaders killed and pieces of news, per run
	settle, ease            time.Duration // until a crowd is at rest, and of its rest
	simulated               int           // agents in the simulator
	sizes                   []int         // and smaller crowds there
	callers                 []int         // clients of a log at once
	logSlice, logRest       time.Duration // of each half of a pair, and of a log at rest
	logPairs, logKills      int           // pairs of runs, and leaders killed
	logReads, logRecords    int           // reads of each kind, and records of a store that is opened
	logFollowers            int           // in the simulator
	logFollowed, logWatched int           // followers on this machine, and entries that they have
	logEtcdKills            int
	crons                   []int // that are due at the same time
	cronSeconds             int   // how often
	idleCrons               int
	idleRest                time.Duration
	jobs, jobRounds         int // jobs that do nothing, and pairs of runs
	jobSingles, heldJobs    int // jobs at rest, and those that pass while a snapshot is held
	dead                    int // jobs that are retried
	workerKills             int // of workers with a job that is fenced, and as many of others
	leaderKills             int
	watched                 []int         // scopes of a page
	orphaned                int           // scopes of a node that dies
	looked                  time.Duration // of a page at rest
	viewers, paints         int           // streams at once, and pages opened
	changes, panned         int           // of hands, and events of a timeline
}

func (c Config) amounts() amounts {
	if c.Quick {
		return amounts{
			kills: 2, handoffs: 2, stalls: 1, rounds: 2,
			slice: 200 * time.Millisecond, loop: 10 * time.Millisecond, rest: c.Lease, scopes: []int{1, 100},
			intents: 600, sendings: 1, singles: 5, failovers: 1, finished: 2000, accounts: 50,
			files: 20, filings: 1, smallFiles: 60,
			users: 50, payRounds: 1, paying: 200 * time.Millisecond, living: 2 * time.Second, strikes: 1, contracts: 500, busy: 5,
			parties: 2, payers: 10, payments: 100, landings: 1, restful: 3, deaths: 1, committees: []int{2, 3},
			crowd: 12, electors: 3, crowds: 1, crashes: 1, news: 3, settle: time.Second, ease: 2 * time.Second, simulated: 200, sizes: []int{5},
			callers: []int{1, 16}, logSlice: 200 * time.Millisecond, logRest: time.Second, logPairs: 1, logKills: 1, logReads: 20, logRecords: 1000, logFollowers: 60,
			logFollowed: 20, logWatched: 2, logEtcdKills: 1,
			crons: []int{100}, cronSeconds: 1, idleCrons: 2000, idleRest: time.Second, jobs: 4000, jobRounds: 1, jobSingles: 20, heldJobs: 4000, dead: 1000,
			workerKills: 1, leaderKills: 2,
			watched: []int{60}, orphaned: 30, looked: 2 * time.Second, viewers: 5, paints: 1, changes: 3, panned: 400,
		}
	}
	return amounts{
		kills: 200, handoffs: 200, stalls: 5, rounds: 8,
		slice: 2 * time.Second, loop: 300 * time.Millisecond, rest: 10 * c.Lease, scopes: []int{1, 100, 1000, 10000},
		intents: 20_000, sendings: 4, singles: 200, failovers: 10, finished: 1_000_000, accounts: 1000,
		files: 50, filings: 6, smallFiles: 3000,
		users: 1000, payRounds: 2, paying: 4 * time.Second, living: 10 * time.Second, strikes: 10, contracts: 10_000, busy: 100,
		parties: 5, payers: 100, payments: 10_000, landings: 3, restful: 100, deaths: 10, committees: []int{2, 5, 10},
		crowd: 100, electors: 7, crowds: 2, crashes: 5, news: 20, settle: 20 * time.Second, ease: 30 * time.Second, simulated: 5000, sizes: []int{5, 50, 500},
		callers: []int{1, 16, 64, 256}, logSlice: 4 * time.Second, logRest: 10 * time.Second, logPairs: 2, logKills: 40, logReads: 2000, logRecords: 100_000, logFollowers: 5000,
		logFollowed: 500, logWatched: 50, logEtcdKills: 10,
		crons: []int{1000, 5000}, cronSeconds: 30, idleCrons: 10_000, idleRest: time.Minute, jobs: 40_000, jobRounds: 4, jobSingles: 500, heldJobs: 100_000, dead: 10_000,
		workerKills: 20, leaderKills: 50,
		watched: []int{1000, 10_000}, orphaned: 500, looked: 20 * time.Second, viewers: 20, paints: 9, changes: 100, panned: 10_000,
	}
}

// Validate returns all faults of the configuration.
func (c Config) Validate() error {
	if c.Lease < election.MinLease || c.Lease > time.Minute {
		return fmt.Errorf("--lease %s is not between %s and %s", c.Lease, election.MinLease, time.Minute)
	}
	for _, name := range c.Only {
		if !slices.Contains(Parts(), name) {
			return fmt.Errorf("the bench pending has no part %q: it has %s", name, strings.Join(Parts(), ", "))
		}
	}
	return nil
}

var benches = map[string]func(context.Context, Config) (Report, error){
	"gate": gate, "fence": fenced, "election": elected, "pending": pending, "files": filed, "sequencer": sequenced, "gossip": gossiped, "log": logged, "schedule": scheduled, "ui": watched,
}

// order is the order of a run of all: the one that needs least is first.
var order = []string{"gate", "fence", "election", "pending", "files", "sequencer", "gossip", "log", "schedule", "ui"}

// Names returns the names of the benches.
func Names() []string { return slices.Clone(order) }

// Run runs the bench of a name.
func Run(ctx context.Context, name string, cfg Config) (Report, error) {
	r, err := benches[name](ctx, cfg)
	r.Name = name
	return r, err
}
