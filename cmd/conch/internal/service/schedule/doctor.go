package schedule

import (
	"context"
	"fmt"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/schedule/pgstore"
)

const (
	factPatience = 5 * time.Second
	// longWait is how long a job may be ready until it looks as if nobody took any.
	longWait = time.Minute
)

// facts are what there is to judge.
type facts struct {
	depths  []pgstore.Depth
	other   string // the node whose file differs
	differs bool
	zones   []pgstore.ZoneFault
}

// examine looks at the crons and the queues. It changes nothing.
func examine(ctx context.Context, c config.Config) []doctor.Finding {
	section := config.Of[*Section](c)
	if section == nil || len(section.Roles()) == 0 || c.Node.Standalone {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, factPatience)
	defer cancel()
	store, err := pgstore.Open(ctx, c.Database.Connection(" doctor"), 1)
	if err != nil {
		return nil // another check says why
	}
	defer store.Close()
	var f facts
	if f.depths, err = store.Depths(ctx); err == nil && section.there {
		if f.other, f.differs, err = store.Differs(ctx, section.config("").File()); err == nil {
			f.zones, err = store.Zones(ctx, section.zones())
		}
	}
	if err != nil {
		return doctor.About("crons", doctor.Warning("could not be looked at: "+err.Error(), "conch migrate up makes the tables, if they are missing"))
	}
	return judge(f)
}

func judge(f facts) []doctor.Finding {
	files := doctor.Well("the crons of this file count, or the next node that starts has them count")
	if f.differs {
		files = doctor.Warning(fmt.Sprintf("node %q has a file of the same [schedule] version with other crons, and those count", f.other),
			"give all nodes the same crons, or the right file a higher version")
	}
	all := append(doctor.About("crons", files), doctor.About("queues", judgeQueues(f.depths)...)...)
	return append(all, doctor.About("zones", judgeZones(f.zones)...)...)
}

// judgeZones finds zones of which this machine and the database's server know different things: one of them is out of date.
func judgeZones(all []pgstore.ZoneFault) (found []doctor.Finding) {
	const remedy = "update the zone data (tzdata) of the one that is out of date"
	for _, z := range all {
		switch z.Unknown {
		case "here":
			found = append(found, doctor.Failure(fmt.Sprintf("this machine does not know the time zone %q: it runs no cron of that zone while it leads", z.Zone), remedy))
		case "there":
			found = append(found, doctor.Warning(fmt.Sprintf("the database's server does not know the time zone %q, which this machine knows", z.Zone), remedy))
		default:
			found = append(found, doctor.Warning(fmt.Sprintf("time zone %q: at %s the clocks are %s ahead of UTC by this machine, and %s by the database's server", z.Zone, z.At.Format(time.RFC3339), z.Here, z.There), remedy))
		}
	}
	if len(found) == 0 {
		return []doctor.Finding{doctor.Well("this machine and the database's server agree on the time zones of the crons")}
	}
	return found
}

// judgeQueues finds queues from which nobody takes, and dead jobs.
func judgeQueues(all []pgstore.Depth) (found []doctor.Finding) {
	for _, d := range all {
		switch {
		case d.Wait > longWait:
			found = append(found, doctor.Warning(fmt.Sprintf("queue %q: %s ready, the first of them for %s: no worker takes them, or too few do", d.Queue, doctor.Count(d.N, "job is", "jobs are"), d.Wait.Round(time.Second)),
				"start a worker for the queue, or cancel the jobs"))
		case d.State == pgstore.Dead:
			found = append(found, doctor.Warning(fmt.Sprintf("queue %q: %s dead", d.Queue, doctor.Count(d.N, "job is", "jobs are")), "look at conch dead list, then retry or discard them"))
		}
	}
	if len(found) == 0 {
		return []doctor.Finding{doctor.Well("no job waits for a worker for longer than a minute, and none is dead")}
	}
	return found
}
