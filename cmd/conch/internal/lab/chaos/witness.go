package chaos

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/fleet"
)

// work is one of the three workloads.
type work int

const (
	rows     work = iota // committed under the fence
	outside              // acts behind the act door
	children             // acts of commands under conch run
	works
)

// sign is the last act seen of a workload.
type sign struct {
	at    fence.Instant
	node  string
	epoch int64
}

// witness reads the evidence during the run, to see whether work goes on and which node does it.
type witness struct {
	dir   string
	tail  fleet.Tail
	last  [works]sign
	since [works][]fence.Instant // since the last mark, and the one before it
}

func newWitness(dir string) *witness { return &witness{dir: dir} }

// look reads what was written since the last look.
func (w *witness) look() error {
	acks, err := filepath.Glob(filepath.Join(w.dir, "*.acks"))
	if err != nil {
		return err
	}
	for _, path := range acks {
		node := strings.TrimSuffix(filepath.Base(path), ".acks")
		err := follow(w, path, func(a evidence.Ack) { w.saw(rows, sign{a.At, node, a.Epoch}) })
		if err != nil {
			return err
		}
	}
	act := func(kind work) func(evidence.Act) {
		return func(a evidence.Act) { w.saw(kind, sign{a.End, a.Node, a.Epoch}) }
	}
	return errors.Join(
		follow(w, evidence.OutsideFile(w.dir), act(outside)),
		follow(w, childrenFile(w.dir), act(children)))
}

func (w *witness) saw(kind work, s sign) {
	w.since[kind] = append(w.since[kind], s.at)
	if s.at > w.last[kind].at {
		w.last[kind] = s
	}
}

// mark forgets all signs but the last of each workload: gaps are measured from it.
func (w *witness) mark() {
	for kind := range w.since {
		w.since[kind] = w.since[kind][:0]
		if at := w.last[kind].at; at != 0 {
			w.since[kind] = append(w.since[kind], at)
		}
	}
}

// behind returns the workloads that have done nothing since an instant.
func (w *witness) behind(at fence.Instant) (names []string) {
	for kind, name := range []string{"rows under the fence", "acts behind the act door", "children of conch run"} {
		if w.last[kind].at <= at {
			names = append(names, name)
		}
	}
	return names
}

// gap returns the longest gap of a workload from the mark until now, an open gap included.
func (w *witness) gap(kind work, now fence.Instant) time.Duration {
	if len(w.since[kind]) == 0 {
		return 0
	}
	return longestGap(append(slices.Clone(w.since[kind]), now))
}

func longestGap(at []fence.Instant) (longest time.Duration) {
	at = slices.Sorted(slices.Values(at))
	for i := 1; i < len(at); i++ {
		longest = max(longest, at[i].Sub(at[i-1]))
	}
	return longest
}

// follow passes on the whole lines added to a file since the last time.
func follow[T any](w *witness, path string, take func(T)) error {
	return w.tail.Follow(path, func(line []byte) error {
		var v T
		err := evidence.Decode(line, &v)
		if err == nil {
			take(v)
		}
		return err
	})
}
