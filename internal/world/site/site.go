package site

import (
	"fmt"
	"time"

	"github.com/conchhq/conch/internal/world"
)

// Database is its name in a story.
const Database = "database"

// Wing is what a site has the world of a wing do.
type Wing struct {
	Starts  func(*Node, bool) // a process has; again, after a fault
	Dies    func(*Node)       // it has
	Leads   func(*Node) bool  // it believes so
	Lead    func(*Node)       // it is elected, in the epoch of the site
	Stepped func()            // the database's clock was set
	Faults  []func()          // what else may happen, each as likely as a fault of the site
	Steady  bool              // the database's clock is right
}

// Site is a run of the world of a wing: its processes, and their database.
type Site struct {
	world.Run

	W     *world.World
	All   []*Node
	First *Node // that leads, as the database has it; nil: nobody does
	Epoch int64 // of that
	Away  bool  // the database
	Calm  bool  // nothing is wrong any more

	wing   Wing
	lease  time.Duration
	begins time.Time
	wrong  time.Duration // by how much the database's clock is ahead
	cut    map[string]bool
}

// New returns a site whose processes do not run yet. A leader may be silent for a lease. The true time at its begin is what all clocks read then.
func New(begun world.Run, lease time.Duration, begins time.Time, wing Wing) *Site {
	s := &Site{Run: begun, W: begun.World(), wing: wing, lease: lease, begins: begins, cut: map[string]bool{}}
	s.Sites = []string{Database}
	for i, name := range s.Names {
		s.All = append(s.All, &Node{s: s, Name: name, Index: i, Clock: s.W.NewClock(int64(i+1)*int64(time.Hour), int64(s.W.Pick(200)-100))})
	}
	s.W.Again(lease, s.elect)
	return s
}

// Clock is what the database's clock reads.
func (s *Site) Clock() time.Time {
	return s.True().Add(s.wrong).Truncate(time.Microsecond)
}

// True is the true time.
func (s *Site) True() time.Time { return s.begins.Add(s.W.Now()) }

// elect makes another leader where the last one is silent.
func (s *Site) elect() time.Duration {
	if l := s.First; l == nil || !s.wing.Leads(l) || !l.Speaks() {
		if s.First = s.Draw(func(n *Node) bool { return !s.wing.Leads(n) }); s.First != nil {
			s.Epoch++
			s.wing.Lead(s.First)
		}
	}
	return s.lease
}

// Draw draws one of the processes that speak, and for which something is so; nil: there is none.
func (s *Site) Draw(is func(*Node) bool) *Node {
	var able []*Node
	for _, n := range s.All {
		if n.Speaks() && is(n) {
			able = append(able, n)
		}
	}
	if len(able) == 0 {
		return nil
	}
	return able[s.W.Pick(len(able))]
}

// Tells tells what the process does.
func (n *Node) Tells(text string, args ...any) { n.s.tells(n.Name, text, args...) }

func (s *Site) tells(who, text string, args ...any) {
	s.Tell(s.W.Now(), who, fmt.Sprintf(text, args...))
}
