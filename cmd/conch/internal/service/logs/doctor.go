package logs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/txlog/quorum/disk"
	"github.com/conchhq/conch/txlog/store"
)

const checkLogs = "logs"

// examine looks at the stores, and changes nothing.
func examine(ctx context.Context, c config.Config) []doctor.Finding {
	s := config.Of[*Section](c)
	if s == nil || len(s.all) == 0 {
		return nil
	}
	var found []doctor.Finding
	for i := range s.all {
		found = append(found, look(ctx, &s.all[i]))
	}
	return doctor.About(checkLogs, found...)
}

// look reads and checks a whole store.
func look(ctx context.Context, l *Log) doctor.Finding {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	s, err := disk.OpenReadOnly(ctx, l.Store)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, disk.ErrNoLog):
		return doctor.Well(fmt.Sprintf("log %s: nothing is stored here yet. The node asks its peers how the log began; conch log create makes it, once", l.Namespace))
	case errors.Is(err, store.ErrHeld):
		return doctor.Well(fmt.Sprintf("log %s: a process has its store: conch log status %s asks it", l.Namespace, l.Namespace))
	case errors.Is(err, store.ErrDamaged):
		return doctor.Warning(fmt.Sprintf("log %s: %v", l.Namespace, err),
			"start the node: it moves the store aside, keeps it, begins with a new one, and fetches the log from the others")
	case err != nil:
		return doctor.Failure(fmt.Sprintf("log %s: its store cannot be opened: %v", l.Namespace, err), "give the node's user the file "+l.Store+" and its folder")
	}
	defer func() { _ = s.Close() }()
	g, view := s.Genesis(), s.View()
	if !l.ID.IsZero() && g.ID() != l.ID {
		return doctor.Failure(fmt.Sprintf("log %s: the store has the log %s, and the configuration names %s", l.Namespace, g.ID(), l.ID), "correct id, or move "+l.Store+" away")
	}
	if _, err := os.Stat(l.Store + ".damaged"); err == nil {
		return doctor.Warning(fmt.Sprintf("log %s: the store was found to be damaged before", l.Namespace), "start the node: it begins with a new one, and fetches the log from the others")
	}
	return doctor.Well(fmt.Sprintf("log %s: the store is whole, with entries %d to %d", l.Namespace, view.Floor.Index+1, view.Last.Index))
}
