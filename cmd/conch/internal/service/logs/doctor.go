package logs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/txlog"
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

// doctorPatience is how long a store is waited for that another process has: a node that runs has it for good.
const doctorPatience = time.Second / 5

// look reads and checks a whole store.
func look(ctx context.Context, l *Log) doctor.Finding {
	say := func(text string, args ...any) string {
		return "log " + l.Namespace + ": " + fmt.Sprintf(text, args...)
	}
	const renewed = "start the node: it moves the store aside, keeps it, begins with a new one, and fetches the log from the others"
	f, err := os.OpenFile(l.Store, os.O_RDWR, 0)
	if err == nil {
		err = f.Close()
	}
	var s *disk.Store
	if err == nil {
		within, cancel := context.WithTimeout(ctx, doctorPatience)
		defer cancel()
		s, err = disk.OpenReadOnly(within, l.Store)
	}
	damage, damaged := errors.AsType[*disk.DamageError](err)
	none := errors.Is(err, fs.ErrNotExist)
	full := l.crowded()
	switch {
	case none && full != nil:
		return doctor.Failure(say("%v", full), "move those files elsewhere, or remove them, and start the node")
	case none, errors.Is(err, disk.ErrNoLog):
		return doctor.Well(say("nothing is stored here yet. The node asks its peers how the log began; conch log create makes it, once"))
	case errors.Is(err, store.ErrHeld):
		return doctor.Well(say("a process has its store: conch log status %s asks it", l.Namespace))
	case damaged && damage.Foreign:
		return doctor.Warning(say("%v", damage), "if another program uses it, correct store in [[logs]]. Else "+renewed)
	case damaged:
		return doctor.Warning(say("the store %s is damaged: %s", l.Store, damage.What), renewed)
	case errors.Is(err, txlog.ErrVersion):
		return doctor.Failure(say("the store %s cannot be read: %v", l.Store, err), "start the version of conch that has written it")
	case err != nil:
		return doctor.Failure(say("the store cannot be opened: %v", err), "let the node's user read and write the file "+l.Store+" and its folder")
	}
	defer func() { _ = s.Close() }()
	g, view := s.Genesis(), s.View()
	if err := l.fits(g); err != nil {
		remedy := "correct the configuration, or move " + l.Store + " away"
		if !l.ID.IsZero() && g.ID() != l.ID {
			remedy += ". If the log that it names goes on with this one, start the node: it fetches that from its peers, and keeps the old store"
		}
		return doctor.Failure(say("%v", err), remedy)
	}
	if what, err := os.ReadFile(l.Store + ".damaged"); err == nil {
		return doctor.Warning(say("the store %s was found to be damaged before: %s", l.Store, what), renewed)
	}
	if view.Last.Index == view.Floor.Index {
		return doctor.Well(say("the store is whole, and has no entry yet"))
	}
	return doctor.Well(say("the store is whole, with entries %d to %d", view.Floor.Index+1, view.Last.Index))
}
