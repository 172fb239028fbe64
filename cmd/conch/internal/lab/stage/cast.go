//go:build unix

package stage

import (
	"context"
	"fmt"
	"time"

	"github.com/conchhq/conch/internal/fleet"
)

// Cast has the players of an experiment, each a pointer to what it is part of. It belongs to the goroutine that supervises, but
// for News and Output.
type Cast[P interface{ Played() *Player }] struct {
	All  []P
	News chan fleet.News // what all of them print, and their ends

	launcher *fleet.Launcher
	over     chan struct{} // closed when News is no longer read
}

// NewCast makes a cast without players. So much news waits for the supervisor.
func NewCast[P interface{ Played() *Player }](waiting int) *Cast[P] {
	return &Cast[P]{News: make(chan fleet.News, waiting), launcher: fleet.NewLauncher(), over: make(chan struct{})}
}

// Start starts a player's process.
func (c *Cast[P]) Start(one P, as fleet.Command) (err error) {
	p := one.Played()
	as.Tell = func(n fleet.News) {
		select {
		case c.News <- n:
		case <-c.over:
		}
	}
	process, err := c.launcher.Launch(as)
	if err != nil {
		return fmt.Errorf("starting %s: %w", p.Name, err)
	}
	p.Process, p.Killed, p.Stopped, p.Back = process, false, false, time.Time{}
	return nil
}

// Output runs a command beside the players, as a user would, and returns what it prints.
func (c *Cast[P]) Output(ctx context.Context, program string, args ...string) ([]byte, error) {
	return c.launcher.Output(ctx, program, args, nil)
}

// Of returns the player whose process it is; nil: it is an earlier one.
func (c *Cast[P]) Of(process *fleet.Process) P {
	return c.find(func(p *Player) bool { return p.Process == process })
}

// Named returns the player of a name; nil: there is none.
func (c *Cast[P]) Named(name string) P {
	return c.find(func(p *Player) bool { return p.Name == name })
}

func (c *Cast[P]) find(is func(*Player) bool) (none P) {
	for _, one := range c.All {
		if is(one.Played()) {
			return one
		}
	}
	return none
}

// Due returns the players that are to be started again.
func (c *Cast[P]) Due(now time.Time) (due []P) {
	for _, one := range c.All {
		if p := one.Played(); p.Process == nil && !p.Back.IsZero() && !now.Before(p.Back) {
			due = append(due, one)
		}
	}
	return due
}

// Said returns the last words of the first player that has some, as the end of an error.
func (c *Cast[P]) Said() string {
	for _, one := range c.All {
		if text := one.Played().Said(); text != "" {
			return text
		}
	}
	return ""
}

// End ends all processes, in order within the patience, then by SIGKILL, and returns when none is left. None can be started
// afterwards. It may be called again.
func (c *Cast[P]) End(patience time.Duration) {
	var all []*fleet.Process
	var players []*Player
	for _, one := range c.All {
		if p := one.Played(); p.Process != nil {
			players, all = append(players, p), append(all, p.Process)
		}
	}
	select {
	case <-c.over:
	default:
		close(c.over)
		defer c.launcher.Close()
	}
	fleet.EndAll(patience, all...)
	for _, p := range players {
		p.Bury()
	}
}
