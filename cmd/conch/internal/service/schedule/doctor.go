package schedule

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/schedule"
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
		file := section.config("").File()
		if f.other, f.differs, err = store.Differs(ctx, file); err == nil {
			f.zones, err = store.Zones(ctx, zonesOf(file.Crons))
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
	found := append(doctor.About("crons", files), doctor.About("zones", judgeZones(f.zones)...)...)
	return append(found, doctor.About("queues", judgeQueues(f.depths)...)...)
}

func zonesOf(crons []schedule.Cron) (names []string) {
	for _, c := range crons {
		names = append(names, c.Timezone)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// judgeZones finds zones of which this machine and the database's server know different things.
func judgeZones(faults []pgstore.ZoneFault) (found []doctor.Finding) {
	for _, f := range faults {
		text := fmt.Sprintf("zone %s: from %s on, its clocks are %s ahead of UTC by this machine's data, and %s by those of the database's server",
			f.Zone, f.At.Format(time.RFC3339), f.Here, f.There)
		switch f.Unknown {
		case "here":
			text = fmt.Sprintf("zone %s is not in this machine's data", f.Zone)
		case "there":
			text = fmt.Sprintf("zone %s is not in the data of the database's server, so nothing can be compared", f.Zone)
		}
		found = append(found, doctor.Warning(text, "bring the zone data (tzdata) of all nodes and of the database's server to one version"))
	}
	if len(found) == 0 {
		return []doctor.Finding{doctor.Well("this machine and the database's server know the same changes of clocks for the next year")}
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
