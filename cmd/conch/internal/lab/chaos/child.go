package chaos

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/fence"
)

// ChildCommand is the hidden subcommand that conch run starts.
const ChildCommand = "chaos-child"

func childrenFile(dir string) string { return filepath.Join(dir, "children.acts") }

const (
	childPace = 5 * time.Millisecond
	childWork = time.Millisecond
)

// Child writes to a file, under the epoch that it was started with, until it is killed. It
// knows nothing of gates and ignores SIGTERM: conch run has to kill it in time.
func Child(ctx context.Context, dir string, getenv func(string) string) error {
	epoch, err := strconv.ParseInt(getenv("CONCH_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("%s is started by conch run, which sets CONCH_EPOCH: %w", ChildCommand, err)
	}
	if dir == "" {
		return errors.New("--dir is missing: the evidence needs a folder")
	}
	file, err := evidence.OpenLines(childrenFile(dir))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	pace := time.NewTicker(childPace)
	defer pace.Stop()
	work := time.NewTimer(0)
	defer work.Stop()
	<-work.C
	for {
		act := evidence.Act{Start: fence.Boottime(), Epoch: epoch, Term: getenv("CONCH_TERM"), Node: getenv("CONCH_ID")}
		work.Reset(childWork)
		<-work.C
		act.End = fence.Boottime()
		if err := file.Append(act); err != nil {
			return err
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
			return nil
		}
	}
}
