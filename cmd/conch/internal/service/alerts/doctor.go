package alerts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/alerts/pgstore"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg"
)

// examine looks at who evaluates the alerts of this file, and whom nobody could tell. It changes nothing.
func examine(ctx context.Context, c config.Config) []doctor.Finding {
	section := config.Of[*Section](c)
	if section == nil || !section.led {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	store, err := pgstore.Open(ctx, c.Database.Connection(" doctor"))
	if err != nil {
		return nil // another check says why
	}
	defer store.Close()
	if err = store.Check(ctx); err == nil {
		var in alerts.Loaded
		if in, err = store.Survey(ctx); err == nil {
			return doctor.About("alerts", judge(in, section.Hash(), section.interval)...)
		}
	}
	err = pg.Locked(ctx, c.Database.Connection(" doctor"), err)
	return doctor.About("alerts", doctor.Warning("could not be looked at: "+pgmint.Sentence(err), "conch migrate up makes the tables of alerts, and deploy/grants.sql lets a node use them"))
}

// judge looks at the rows, with the hash and the interval of this file.
func judge(in alerts.Loaded, hash string, interval time.Duration) (found []doctor.Finding) {
	warn := func(remedy, format string, args ...any) {
		found = append(found, doctor.Warning(fmt.Sprintf(format, args...), remedy))
	}
	idle := 3 * max(interval, alerts.DefaultHold)
	switch e := in.Evaluation; {
	case e == nil:
		warn("start a node with this file; conch status says who leads the scope "+Scope, "nobody has evaluated the alerts yet")
	case in.At.Sub(e.At) > idle:
		warn("conch status says who leads the scope "+Scope+", or why nobody does; its log says what fails", "nobody has evaluated the alerts since %s", e.At.Format(time.RFC3339))
	}
	var other []string
	for _, n := range in.Nodes {
		if n.Hash != hash {
			other = append(other, n.Name)
		}
	}
	if len(other) > 0 {
		slices.Sort(other)
		warn("give all nodes the same [alerting], [[alerts]] and [[notify]]: until then nothing of what differs begins or ends", "%s other alerts or receivers than this file, such as %s",
			doctor.Count(len(other), "node has", "nodes have"), other[0])
	}
	late := map[string]int{}
	seqs := map[string]uint64{}
	for _, g := range in.Groups {
		seqs[g.Key] = g.Seq
	}
	for _, t := range in.Tellings {
		if seq := seqs[t.Key]; seq > t.Told && in.At.Unix()-int64(seq) > int64(idle/time.Second) { // a number is a time, at least
			late[t.Receiver]++
		}
	}
	var names []string
	for name := range late {
		names = append(names, fmt.Sprintf("%q", name))
	}
	if slices.Sort(names); len(names) > 0 {
		warn("conch alerts test RECEIVER says what is wrong with it", "alerts wait to be told to %s", strings.Join(names, ", "))
	}
	if len(found) == 0 {
		found = append(found, doctor.Well(fmt.Sprintf("%s evaluates them; the last time was at %s", in.Evaluation.Node, in.Evaluation.At.Format(time.RFC3339))))
	}
	return found
}
