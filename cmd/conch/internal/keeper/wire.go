//go:build unix

package keeper

import (
	"bufio"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/conchhq/conch/fence"
)

// order is one line from conch to its keeper; exactly one field is set.
type order struct {
	Deadline fence.Instant  `json:"deadline,omitempty"`
	Signal   int            `json:"signal,omitempty"`
	End      *time.Duration `json:"end,omitempty"`
	Kill     bool           `json:"kill,omitempty"`
}

func (o order) input() Input {
	switch {
	case o.Deadline != 0:
		return Deadline{At: o.Deadline}
	case o.Signal != 0:
		return Signal{Number: o.Signal}
	case o.End != nil:
		return End{Within: *o.End}
	case o.Kill:
		return Kill{}
	}
	return Tick{}
}

// readOrders passes orders on until the pipe ends, which means that conch is gone: only conch
// holds the other end. A line that is no order counts as the same, since it cannot be obeyed.
func readOrders(from io.Reader, pass func(Input)) {
	for lines := bufio.NewScanner(from); lines.Scan(); {
		var o order
		if json.Unmarshal(lines.Bytes(), &o) != nil {
			break
		}
		pass(o.input())
	}
	pass(ConchGone{})
}

// readReports passes reports on until the keeper has closed its end.
func readReports(from io.Reader, pass func(Report)) {
	for lines := bufio.NewScanner(from); lines.Scan(); {
		var r Report
		if json.Unmarshal(lines.Bytes(), &r) == nil {
			pass(r)
		}
	}
}

// writer writes each line in one piece. It ignores errors: a reader that is gone is noticed elsewhere.
type writer struct {
	mu sync.Mutex
	to io.WriteCloser
}

func (w *writer) line(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.to.Write(append(text, '\n'))
}
