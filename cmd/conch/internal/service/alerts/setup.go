package alerts

import (
	"cmp"
	"context"
	"os"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/cmd/conch/internal/condition"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/receiver"
	"github.com/conchhq/conch/internal/webhook"
)

// unnamed is the cluster in the keys of one that has no name: it has no receivers that know an incident by its key.
const unnamed = "conch"

// setup is what a node does for alerts, by one reading of its file.
type setup struct {
	section *Section
	cfg     alerts.Config
	named   []receiver.Config
	opened  atomic.Pointer[[]*receiver.Receiver] // heartbeats too, with the secrets that were read last
	place   receiver.Place
	texts   map[string]receiver.Texts
}

// setupOf returns nil if the file says nothing about alerts. The interval, the cluster and the link are those of c.Node, with which a node has begun, and
// led is whether it uses a database. Faults have the place of their key.
func setupOf(c config.Config, node string, led bool, fault func(key string, err error)) *setup {
	read := config.Of[*Section](c)
	if read == nil || !read.here {
		return nil
	}
	own := *read
	section := &own
	section.interval, section.led = cmp.Or(c.Node.SampleInterval, DefaultInterval), led
	cluster := cmp.Or(c.Node.Cluster, unnamed)
	if !section.led {
		section, cluster = section.local(), cluster+"/"+lasting(c, node)
	}
	u := &setup{section: section, place: receiver.Place{Cluster: c.Node.Cluster, PublicURL: c.Node.PublicURL}, texts: map[string]receiver.Texts{}}
	var opened []*receiver.Receiver
	if notify := config.Of[*receiver.Section](c); notify != nil {
		u.named, opened = notify.All(), notify.Open(os.Getenv, fault)
	}
	u.opened.Store(&opened)
	for _, a := range section.all {
		u.texts[a.Name] = receiver.Texts{Labels: a.Labels, Annotations: a.Annotations}
	}
	u.cfg = alerts.Config{
		Cluster: cluster, Node: node, Hash: section.Hash(), Interval: section.interval, Lease: c.Election.Lease,
		Keep: condition.NewWindow(section.interval, condition.Needs(section.Conditions()...)).KeepFor(), Rules: section.Rules(), Receivers: section.most,
	}
	return u
}

// lasting is the name of a node that stays when it is started again: it is part of the keys by which receivers know what it has told.
func lasting(c config.Config, node string) string {
	if host, err := os.Hostname(); err == nil && c.Origin("node.instance_id") == "default" {
		return host
	}
	return node
}

// is reports whether a reading has changed nothing but secrets.
func (u *setup) is(other *setup) bool {
	return u == nil && other == nil || u != nil && other != nil && u.cfg.Hash == other.cfg.Hash && u.cfg.Cluster == other.cfg.Cluster &&
		u.place == other.place && reflect.DeepEqual(u.texts, other.texts) && reflect.DeepEqual(u.named, other.named)
}

// receivers are those that are told, with their newest secrets.
func (u *setup) receivers() []*receiver.Receiver { return *u.opened.Load() }

// hearts are those that are called while alerts are evaluated.
func (u *setup) hearts() []*receiver.Receiver {
	return slices.DeleteFunc(slices.Clone(u.receivers()), func(r *receiver.Receiver) bool { return !r.Beats() })
}

// receiver returns one by its name; nil: there is none.
func (u *setup) receiver(name string) *receiver.Receiver {
	all := u.receivers()
	if at := slices.IndexFunc(all, func(r *receiver.Receiver) bool { return r.Name == name }); at >= 0 {
		return all[at]
	}
	return nil
}

// teller tells the receivers of a setup. Each write is an act; nil: nobody is asked.
type teller struct {
	*setup
	act webhook.Act
}

// Tell implements alerts.Teller.
func (t teller) Tell(ctx context.Context, to string, m alerts.Message) (alerts.Answer, error) {
	one := receiver.Teller{Receivers: t.receivers(), Place: t.place, Texts: func(rule string) receiver.Texts { return t.texts[rule] }, Act: t.act}
	return one.Tell(ctx, to, m)
}
