package coordinator

import (
	"strings"

	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Landed is the end of an entry that the ledger has taken, and Disowned that of one whose owner has seen its end before this
// node has. The other ends are the reasons for which the ledger skips.
const (
	Landed   = "landed"
	Disowned = "disowned"
)

// Ends returns how an entry of a node may end. NotGranted is none: copies by others have that too, and what this
// node sends ends as expired then.
func Ends() []string {
	all := []string{Landed}
	for r := ledger.Malformed; r <= ledger.Missing; r++ {
		if r != ledger.NotGranted {
			all = append(all, endOf(r))
		}
	}
	return append(all, Disowned)
}

func endOf(r ledger.Reason) string {
	if r == ledger.Taken {
		return Landed
	}
	return strings.ReplaceAll(r.String(), " ", "_")
}

// count counts how an entry that this node has dispatched has ended, once. What others do with a copy of it ends nothing.
func (m *Machine) count(w *work, e event) {
	if w.inherited || !w.stored {
		return
	}
	end := endOf(m.reason)
	switch {
	case w.was == included:
		end = Landed
	case e == superseded:
		end = endOf(ledger.Repeated)
	case e == disowned:
		end = Disowned
	}
	m.ended[end]++
}

// reasonOf says for which reason the ledger would skip what has ended so.
func reasonOf(e grants.End) ledger.Reason {
	switch e {
	case grants.Superseded:
		return ledger.Repeated
	case grants.Spent, grants.Orphaned:
		return ledger.Missing
	case grants.Overdue:
		return ledger.Expired
	case grants.Alive, grants.Landed:
	}
	return ledger.Taken
}
