package schedule

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/pgstore"
	"github.com/conchhq/conch/schedule/zone"
)

const (
	factPatience = 5 * time.Second
	// longWait is how long a job may be ready until it looks as if nobody took any.
	longWait = time.Minute
	denied   = "42501" // an SQLSTATE
)

// facts are what there is to judge.
type facts struct {
	here    bool     // the configuration has crons or workers
	filed   bool     // it declares crons
	served  []string // the queues of its workers
	adds    []string // the queues of its crons
	unused  []string // those of its workers of which there is no recent job
	server  pgstore.Server
	crons   []pgstore.Listed
	depths  []pgstore.Depth
	other   string // the node whose file differs
	differs bool
	zones   []pgstore.ZoneFault
	slots   []pgstore.LastSlot
	leaders map[string]leader
	sample  time.Time // when the slot begins whose figures were recorded last; zero: none ever was
}

// examine looks at the crons, the queues and the slots. It changes nothing.
func examine(ctx context.Context, c config.Config) []doctor.Finding {
	section := config.Of[*Section](c)
	if c.Node.Standalone || section != nil && !c.UsesDatabase() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, factPatience)
	defer cancel()
	store, err := pgstore.Open(ctx, c.Database.Connection(" doctor"), 1)
	if err != nil {
		return nil // another check says why
	}
	defer store.Close()
	f := facts{here: section != nil && len(section.Roles()) > 0, filed: section != nil && section.there}
	if f.here {
		for _, w := range section.workers {
			f.served = append(f.served, w.Queues...)
		}
		for _, c := range section.crons {
			f.adds = append(f.adds, c.Queue)
		}
	}
	if !f.here && store.Check(ctx) != nil {
		return nil // nobody has any
	}
	if err = f.gather(ctx, store, c.Database); err == nil && f.filed {
		file := section.config("").File()
		if f.other, f.differs, err = store.Differs(ctx, file); err == nil {
			f.zones, err = store.Zones(ctx, zonesOf(file.Crons))
		}
	}
	if err != nil {
		err = pg.Locked(ctx, c.Database.Connection(" doctor"), err)
		return doctor.About("crons", doctor.Warning("could not be looked at: "+pgmint.Sentence(err), "mend that, and ask again"))
	}
	return judge(f)
}

// mostNames is how many names are told at most that people could take for others.
const mostNames = 5

// judgeNames finds crons, and queues, that people take for each other: a worker does not serve a queue that only looks like its own.
func judgeNames(f facts) []doctor.Finding {
	var crons []string
	for _, c := range f.crons {
		crons = append(crons, c.Name)
	}
	queues := slices.Concat(f.served, f.adds)
	for _, d := range f.depths {
		queues = append(queues, d.Queue)
	}
	slices.Sort(queues)
	found := slices.Concat(
		doctor.Alike("crons", "if one of them is a mistake, correct it where it is declared, with a higher [schedule] version", crons),
		doctor.Alike("queues", "if one of them is a mistake, correct it in the crons, the workers, or the program that adds its jobs", slices.Compact(queues)))
	return found[:min(len(found), mostNames)]
}

// mostCrons is how many crons are looked at.
const mostCrons = 1000

// gather reads what the database says, whatever the file has.
func (f *facts) gather(ctx context.Context, store *pgstore.Store, at pgmint.Config) (err error) {
	if f.server, err = store.Held(ctx); err != nil {
		return err
	}
	if f.crons, err = store.Crons(ctx, "", "", mostCrons); err != nil && pg.Code(err) != denied { // an observer may not read what crons do
		return err
	}
	if f.depths, err = store.Depths(ctx); err != nil {
		return err
	}
	if f.sample, _, err = store.NewestSample(ctx); err != nil {
		return err
	}
	if f.unused, err = store.Unused(ctx, f.served); err != nil {
		return err
	}
	if f.slots, err = store.Slots(ctx, ""); err == nil && len(f.slots) > 0 {
		f.leaders, _, err = leadersOf(ctx, at, store)
	}
	return err
}

func judge(f facts) (found []doctor.Finding) {
	if f.filed {
		files := doctor.Well("the crons of this file count, or the next node that starts has them count")
		if f.differs {
			files = doctor.Warning(fmt.Sprintf("node %q has a file of the same [schedule] version with other crons, and those count", f.other),
				"give all nodes the same crons, or the right file a higher version")
		}
		found = append(doctor.About("crons", files), doctor.About("zones", judgeZones(f.zones)...)...)
	}
	found = append(found, doctor.About("crons", judgeCrons(f.crons, f.server.At)...)...)
	found = append(found, doctor.About("names", judgeNames(f)...)...)
	found = append(found, doctor.About("samples", judgeSample(f.sample, f.server.At)...)...)
	found = append(found, doctor.About("slots", judgeSlots(f.slots, f.leaders, f.server.At)...)...)
	if f.server.Held {
		found = append(found, doctor.About("queues", doctor.Warning(
			fmt.Sprintf("the database was restored: its rows of a backup were found at %s, and no job is taken since", f.server.Restored.Format(time.RFC3339)),
			"look at conch jobs list, cancel what is not to be done again, then say conch jobs release"))...)
	}
	queues := append(judgeQueues(f.depths, f.served), f.judgeWorkers()...)
	if len(queues) == 0 && f.here {
		queues = []doctor.Finding{doctor.Well("no job waits for a worker for longer than a minute, and none is dead")}
	}
	return append(found, doctor.About("queues", queues...)...)
}

// judgeCrons finds crons whose times nobody settles, as when no node's file has a cron or a version any more.
func judgeCrons(all []pgstore.Listed, now time.Time) []doctor.Finding {
	var first string
	count := 0
	for _, l := range all {
		since, says := overdue(l)
		if since.IsZero() || now.Sub(since) < longWait {
			continue
		}
		if count++; first == "" {
			first = fmt.Sprintf("%q, %s %s", l.Name, says, since.Format(time.RFC3339))
		}
	}
	if count == 0 {
		return nil
	}
	return []doctor.Finding{doctor.Warning(fmt.Sprintf("%s, such as %s", doctor.Count(count, "cron is run by nobody", "crons are run by nobody"), first),
		"start a node whose file has [[crons]]; to have them retired, one whose file has none and a higher [schedule] version")}
}

// mostSilent is three times the longest slot that an aggregation may have.
const mostSilent = 15 * time.Minute

// judgeSample finds an aggregation that goes on no more.
func judgeSample(newest, now time.Time) []doctor.Finding {
	if newest.IsZero() || now.Sub(newest) < mostSilent {
		return nil
	}
	return []doctor.Finding{doctor.Warning(fmt.Sprintf("the newest figures in conch.sample are of %s: nobody records any", newest.Format(time.RFC3339)),
		`start a node whose file has a role with builtin = "aggregation"; if nobody is to record any, DELETE FROM conch.sample WHERE epoch IS NOT NULL`)}
}

// overdue says since when a leader has something to do with a cron; zero: it has nothing.
func overdue(l pgstore.Listed) (since time.Time, says string) {
	plan, err := zone.Parse(l.Schedule, l.Timezone, l.Since)
	switch {
	case !l.Adopted:
		return l.Since, "which was declared or changed at"
	case l.Paused || err != nil:
		return time.Time{}, ""
	}
	next, _ := plan.Next(l.Settled)
	return next.At, "which was due at"
}

// judgeSlots finds commands that were cut off, and leaders that keep a cron's command from being run.
func judgeSlots(all []pgstore.LastSlot, leaders map[string]leader, now time.Time) (found []doctor.Finding) {
	for _, s := range all {
		l := leaders[s.Scope]
		if s.CutOff() && l.epoch != s.Epoch {
			found = append(found, doctor.Warning(fmt.Sprintf("the last command of %q was cut off, which %q began at %s", s.Scope, s.Holder, s.Began.Format(time.RFC3339)),
				"look at what it has left undone: its next slot runs it again, and conch cron --retry the next call"))
		}
		if says := l.stranger(s, now); says != "" {
			found = append(found, doctor.Warning(says, "conch status says who is a candidate for the scope"))
		}
	}
	return found
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

// others names the queues that workers of the file serve, if a queue is none of them: one of the names may be wrong. Those that serve it may lack the handlers.
func others(served []string, queue string) string {
	switch {
	case len(served) == 0:
		return ""
	case slices.Contains(served, queue):
		return ": those of this file serve it, so they may be down, have no handlers for such jobs, or too little concurrency"
	}
	return fmt.Sprintf(": the workers of this file serve %q", served)
}

// judgeWorkers finds queues that workers of the file serve, and that nobody seems to fill.
func (f *facts) judgeWorkers() (found []doctor.Finding) {
	for _, queue := range f.unused {
		if slices.Contains(f.adds, queue) || slices.ContainsFunc(f.crons, func(c pgstore.Listed) bool { return c.Queue == queue }) {
			continue
		}
		found = append(found, doctor.Warning(fmt.Sprintf("queue %q: workers of this file serve it, and neither a cron nor any of the newest %d jobs is of it", queue, pgstore.RecentJobs),
			"if its jobs are to have another name, correct that in [[workers]]; else add the first one"))
	}
	return found
}

// judgeQueues finds queues from which nobody takes, and dead jobs.
func judgeQueues(all []pgstore.Depth, served []string) (found []doctor.Finding) {
	for _, d := range all {
		switch {
		case d.Wait > longWait:
			found = append(found, doctor.Warning(fmt.Sprintf("queue %q: %s ready, the first of them for %s: no worker takes them, or too few do", d.Queue, doctor.Count(d.N, "job is", "jobs are"), d.Wait.Round(time.Second)),
				"start a worker for the queue, or cancel the jobs"+others(served, d.Queue)))
		case d.State == pgstore.Dead:
			found = append(found, doctor.Warning(fmt.Sprintf("queue %q: %s dead", d.Queue, doctor.Count(d.N, "job is", "jobs are")), "look at conch dead list, then retry or discard them"))
		}
	}
	return found
}
