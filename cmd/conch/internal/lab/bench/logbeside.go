//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/board"
	"github.com/conchhq/conch/cmd/conch/internal/lab/members"
	"github.com/conchhq/conch/internal/pause"
)

// keeper is what was measured of etcd. Without it all is zero, and nothing is beside conch's own figures.
type keeper struct {
	loads            map[int]*burdens // by clients
	watched, killed  []time.Duration
	bytes, processor float64 // of a rest: bytes, and ms of a processor, in a second
}

// of returns what so many clients had.
func (k *keeper) of(clients int) burdens {
	if b := k.loads[clients]; b != nil {
		return *b
	}
	return burdens{}
}

// takes takes down what the program has found.
func (k *keeper) takes(l members.EtcdLine) {
	switch l.Kind {
	case members.EtcdPuts:
		b := k.loads[l.Clients]
		if b == nil {
			b = &burdens{}
			k.loads[l.Clients] = b
		}
		b.rates, b.works, b.answers = append(b.rates, l.Rate), append(b.works, l.Processor), append(b.answers, durations(l.Took)...)
	case members.EtcdWatches:
		k.watched = append(k.watched, durations(l.Took)...)
	case members.EtcdRested:
		k.bytes, k.processor = l.Bytes, l.Processor
	case members.EtcdKilled:
		k.killed = append(k.killed, durations(l.Took)...)
	}
}

// besideEtcd measures as many members of etcd on the same disk, before those of conch, if the program is there.
func besideEtcd(ctx context.Context, cfg Config, dir string, watchers int) (k keeper, err error) {
	k.loads = map[int]*burdens{}
	if cfg.Etcd == "" {
		cfg.Say("log: %s is neither beside this program nor on the PATH, so that etcd is not beside conch's own figures: %s, or name it by %s",
			members.EtcdName, members.EtcdBuild, members.EtcdEnv)
		return k, nil
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return k, err
	}
	a := cfg.amounts()
	cfg.Say("log: %d members of etcd, and %d that watch …", askedMembers, watchers)
	return k, members.RunEtcd(ctx, cfg.Etcd, members.EtcdLoad{
		Dir: dir, Members: askedMembers, Value: board.ValueBytes, Clients: a.callers, Runs: a.logPairs, Slice: a.logSlice, Rest: a.logRest,
		Watchers: watchers, Watched: a.logWatched, Kills: a.logEtcdKills,
	}, k.takes)
}

// logFollowed measures how soon followers have an entry, each with connections of its own and a verified copy in memory, beside
// clients of etcd that watch. All of them are on this machine, which does the work of all.
func logFollowed(ctx context.Context, cfg Config, dir string, many int, k keeper, r *Report) (err error) {
	cfg.Say("log: %d followers on this machine …", many)
	b, err := openBoard(ctx, cfg, board.Shape{Dir: dir, Followers: many})
	defer func() { err = errors.Join(err, b.Close()) }()
	if err != nil {
		return err
	}
	var all []time.Duration
	var worked time.Duration
	pids := append(b.PIDs(), os.Getpid())
	for i := range cfg.amounts().logWatched {
		if err := pause.For(ctx, 2*logRound+phase(logRound, i)); err != nil {
			return err
		}
		leader, err := b.Leader(ctx)
		if err != nil {
			return err
		}
		before := spent(pids...)
		took, err := b.Follow(ctx, leader, fmt.Sprint("followed-", i), board.Goal(0, i))
		if err != nil {
			return err
		}
		all, worked = append(all, took...), worked+spent(pids...)-before
	}
	r.spread(fmt.Sprint("goal_to_", many, "_followers"), all, k.watched)
	if len(all) > 0 {
		r.add(fmt.Sprint("goal_to_", many, "_followers_processor"), float64(worked.Microseconds())/float64(len(all)), "µs each")
	}
	return nil
}

// askedFollowers is how many followers, and watchers of etcd, fit on this machine of those that are asked for.
func askedFollowers(cfg Config) int {
	want := cfg.amounts().logFollowed
	many := board.Fitting(want)
	if many < want {
		cfg.Say("log: this process may open few files, so that %d followers are measured, not %d", many, want)
	}
	return many
}
