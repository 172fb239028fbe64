//go:build unix

package stage

import (
	"fmt"
	"syscall"
	"time"

	"github.com/conchhq/conch/internal/fleet"
)

// Player is a name of an experiment, with one process after another. It belongs to the goroutine that supervises.
type Player struct {
	Name    string
	Process *fleet.Process // nil while dead
	Killed  bool           // by us: its end is no surprise
	Stopped bool           // by SIGSTOP
	Back    time.Time      // when it is started again; zero: not by itself
	Words   string         // the last ones of the process before
}

// Played returns the player, for a cast of what a player is part of.
func (p *Player) Played() *Player { return p }

// Runs reports whether nothing is done to the player.
func (p *Player) Runs() bool { return p.Process != nil && !p.Killed && !p.Stopped }

// Kill ends the player's process by SIGKILL.
func (p *Player) Kill() {
	p.Killed = true
	p.Process.Signal(syscall.SIGKILL)
}

// Bury notes that the player's process has ended.
func (p *Player) Bury() { p.Words, p.Process = p.Process.LastWords(), nil }

// PID is the number of the process, for a table.
func (p *Player) PID() string {
	if p.Process == nil {
		return "-"
	}
	return fmt.Sprint(p.Process.PID())
}

// Dead says when a dead player comes back, for a table.
func (p *Player) Dead(now time.Time) string {
	return fmt.Sprintf("dead, back in %.1fs", max(0, p.Back.Sub(now)).Seconds())
}

// Said returns the last words of the player, as the end of an error; empty if there are none.
func (p *Player) Said() string {
	if p.Process == nil && p.Words != "" {
		return "; " + p.Name + " says: " + p.Words
	}
	return p.Process.Said(p.Name)
}
