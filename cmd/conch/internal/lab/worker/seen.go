package worker

import (
	"encoding/json"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// Read returns the report that is in a line, if one is.
func Read(line []byte) (r Report, is bool) {
	is = json.Unmarshal(line, &r) == nil
	return r, is
}

// Seen is a worker as it has last reported itself. The zero value has said nothing and leads nothing.
type Seen struct {
	Epoch  int64         // that it leads in; 0: none
	Acted  fence.Instant // when the first row of that term was committed; 0: not yet
	Inside fence.Instant // when the act door was opened in that term; 0: not yet
	Pulse  Report        // the last one
}

// Hear takes a report.
func (s *Seen) Hear(r Report) {
	switch r.Kind {
	case election.Acquired:
		*s = Seen{Epoch: r.Epoch, Pulse: s.Pulse}
	case Acted:
		if s.Epoch == r.Epoch {
			s.Acted = r.At
		}
	case election.Entered:
		if s.Epoch == r.Epoch {
			s.Inside = r.At
		}
	case election.Lost, election.Draining:
		*s = Seen{Pulse: s.Pulse}
	case Pulse:
		s.Pulse = r
	default: // other kinds change nothing
	}
}
