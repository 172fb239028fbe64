//go:build unix

package board

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/conchhq/conch/transport/mtls"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/store"
)

// followers are nodes that follow a log, all in this process, each with connections of its own. They keep their copies in memory: one
// machine has no disk for each of them.
type followers struct {
	many  int
	came  chan came
	stop  context.CancelFunc
	group sync.WaitGroup

	mu    sync.Mutex
	fault error // why one has ended
}

// came says that a follower has applied the entry of a goal.
type came struct {
	goal string
	at   time.Time
}

// Fitting returns how many followers this process has room for, of those that are wanted.
func Fitting(wanted int) int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return fitting(limit.Cur, wanted)
}

// fitting counts the files of a follower: it has some dozen connections, of which both ends are here, and a listener.
func fitting(files uint64, wanted int) int {
	const reserved, each = 200, 20
	if files < reserved {
		return 0
	}
	return int(min((files-reserved)/each, uint64(max(wanted, 0))))
}

// follow starts followers, one after the other, and waits until all are connected. The caller closes them, also after an error.
func follow(ctx context.Context, all []settings, g txlog.Genesis) (*followers, error) {
	f := &followers{many: len(all), came: make(chan came, 16*len(all))}
	own, stop := context.WithCancel(context.WithoutCancel(ctx)) // close ends them
	f.stop = stop
	addresses := map[string]string{}
	for _, s := range all {
		s.Address = "127.0.0.1:0"
		for i, p := range s.Peers {
			s.Peers[i].Address = cmp.Or(p.Address, addresses[p.Name])
		}
		end, err := s.endpoint()
		if err != nil {
			return f, err
		}
		addresses[s.Name] = end.Addr().String()
		run, err := f.join(s, end, g)
		f.start(own, s.Name, end.Run)
		if err != nil {
			return f, err
		}
		f.start(own, s.Name, run)
		if err := s.connected(ctx, end); err != nil {
			return f, err
		}
	}
	return f, nil
}

// connected waits until those are connected that the node calls.
func (s settings) connected(ctx context.Context, end *mtls.Endpoint) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("%s is not connected after a minute", s.Name))
	defer cancel()
	calls := map[string]string{}
	for _, p := range s.Peers {
		if p.Address != "" {
			calls[p.Name] = p.Address
		}
	}
	for {
		for _, l := range end.Links() {
			switch address := calls[l.Peer]; {
			case l.Up:
				delete(calls, l.Peer)
			case address != "": // the other one was too busy to answer in time
				end.Connect(l.Peer, address)
			}
		}
		if len(calls) == 0 {
			return nil
		}
		select {
		case <-end.Changed():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// join has a follower take part in the log, and returns what runs it.
func (f *followers) join(s settings, end *mtls.Endpoint, g txlog.Genesis) (run func(context.Context) error, err error) {
	line, err := end.Open(logSubject)
	if err != nil {
		return nil, err
	}
	heads, err := end.Open(headSubject)
	if err != nil {
		return nil, err
	}
	tell := func(e quorum.Event) {
		applied, is := e.(quorum.Applied)
		if !is {
			return
		}
		at := time.Now()
		for _, r := range applied.Records {
			if r.GoalID != "" {
				f.came <- came{goal: r.GoalID, at: at}
			}
		}
	}
	_, run, err = s.member(store.NewMemory(uint64(s.Self+1), g), line, heads, end, tell)
	return run, err
}

func (f *followers) start(ctx context.Context, name string, run func(context.Context) error) {
	f.group.Go(func() {
		if err := run(ctx); err != nil || ctx.Err() == nil {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.fault = errors.Join(f.fault, fmt.Errorf("%s has ended: %w", name, err))
		}
	})
}

// close ends all followers.
func (f *followers) close() error {
	if f == nil {
		return nil
	}
	f.stop()
	f.group.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fault
}

// Follow has a member execute a goal, and returns how long each follower took to have its entry, from when it was asked for.
func (b *Board) Follow(ctx context.Context, of *Member, id string, goal []byte) (took []time.Duration, err error) {
	f := b.followers
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("not all followers have an entry after a minute"))
	defer cancel()
	began := time.Now()
	if err := of.Put(ctx, id, goal); err != nil {
		return nil, err
	}
	for len(took) < f.many {
		select {
		case c := <-f.came:
			if c.goal == id {
				took = append(took, c.at.Sub(began))
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %d of %d have it", context.Cause(ctx), len(took), f.many)
		}
	}
	return took, nil
}
