package gossip

import (
	"maps"
	"time"
)

// What others cause is told in the log now and then; metrics count the rest. Otherwise a node that lies could fill a disk.
const (
	quietFor  = 10 * time.Minute // between two lines of one peer and reason, and of one pair of twins
	mostQuiet = 256              // such lines in that time

	mostChanges = 60 // of the leader of a namespace, in the time below; two in a second are what a crowd may need
	changesEach = time.Minute
)

// quiet says what the log was told lately. One goroutine uses it.
type quiet struct {
	refusals, twins seldom
	changes         map[string]*pace // by namespace
}

// seldom is when the log was told of things.
type seldom map[string]time.Time

// pace counts lines from an instant on.
type pace struct {
	since        time.Time
	told, untold int
}

func newQuiet() quiet { return quiet{seldom{}, seldom{}, map[string]*pace{}} }

// due reports whether the log is to be told of something now.
func (s seldom) due(what string, now time.Time) bool {
	if at, was := s[what]; was && now.Sub(at) < quietFor {
		return false
	}
	if len(s) >= mostQuiet {
		maps.DeleteFunc(s, func(_ string, at time.Time) bool { return now.Sub(at) >= quietFor })
	}
	if len(s) >= mostQuiet {
		return false
	}
	s[what] = now
	return true
}

// changed reports whether the log is to be told of another leader, and of how many it was not told before that.
func (q *quiet) changed(namespace string, now time.Time) (due bool, untold int) {
	p := q.changes[namespace]
	if p == nil || now.Sub(p.since) >= changesEach {
		if p != nil {
			untold = p.untold
		}
		p = &pace{since: now}
		q.changes[namespace] = p
	}
	if p.told >= mostChanges {
		p.untold++
		return false, 0
	}
	p.told++
	return true, untold
}
