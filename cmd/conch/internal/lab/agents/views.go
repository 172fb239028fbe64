//go:build unix

package agents

import (
	"context"
	"fmt"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/fleet"
)

// views is what the agents that live name as their leader and have heard, as they say it.
type views struct {
	fleet.Heard

	named  map[string]view // by agent that lives
	news   map[string]map[string]fence.Instant
	faults []error // what must not have happened
}

// view is whom an agent names, and since when it does.
type view struct {
	leader string // empty: nobody
	since  fence.Instant
}

func newViews() *views {
	return &views{named: map[string]view{}, news: map[string]map[string]fence.Instant{}}
}

// begins says that an agent lives, and names nobody yet.
func (v *views) begins(agent string) { v.Tell(func() { v.named[agent] = view{} }) }

// ends says that an agent was killed. What it has said before and comes later counts no more.
func (v *views) ends(agent string) { v.Tell(func() { delete(v.named, agent) }) }

func (v *views) lives(agent string) bool {
	v.Lock()
	defer v.Unlock()
	_, is := v.named[agent]
	return is
}

func (v *views) names(agent, leader string, at fence.Instant) {
	v.Tell(func() {
		if _, lives := v.named[agent]; lives {
			v.named[agent] = view{leader, at}
		}
	})
}

// fault says that something has happened that must not.
func (v *views) fault(err error) { v.Tell(func() { v.faults = append(v.faults, err) }) }

// hears says that an agent has heard a piece of news. It may do so once.
func (v *views) hears(agent, topic string, at fence.Instant) {
	v.Tell(func() {
		if v.news[topic] == nil {
			v.news[topic] = map[string]fence.Instant{}
		}
		if _, before := v.news[topic][agent]; before {
			v.faults = append(v.faults, fmt.Errorf("%s has heard %s twice", agent, topic))
			return
		}
		v.news[topic][agent] = at
	})
}

// agreed returns whom all agents name, and since when the last one does; or nothing, unless they name one that lives. The
// lock is held.
func (v *views) agreed(many int) (leader string, since fence.Instant) {
	if len(v.named) != many {
		return "", 0
	}
	for _, one := range v.named {
		if one.leader == "" || leader != "" && one.leader != leader {
			return "", 0
		}
		leader, since = one.leader, max(since, one.since)
	}
	if _, lives := v.named[leader]; !lives {
		return "", 0
	}
	return leader, since
}

// await waits until something is so, which is looked at under the lock after each change.
func (v *views) await(ctx context.Context, most time.Duration, what string, done func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("it has not come in %s", most))
	defer cancel()
	if err := v.Await(ctx, done); err != nil {
		return fmt.Errorf("waiting until %s: %w", what, err)
	}
	return nil
}
