package alerts

import (
	"cmp"
	"os"
	"reflect"
	"slices"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/cmd/conch/internal/condition"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/receiver"
)

// unnamed is the cluster in the keys of one that has no name: it has no receivers that know an incident by its key.
const unnamed = "conch"

// setup is what a node does for alerts, by one reading of its file.
type setup struct {
	section   *Section
	cfg       alerts.Config
	named     []receiver.Config
	receivers []*receiver.Receiver // heartbeats too
	place     receiver.Place
	texts     map[string]receiver.Texts
}

// setupOf returns nil if the file says nothing about alerts. Faults have the place of their key.
func setupOf(c config.Config, node string, fault func(key string, err error)) *setup {
	section := config.Of[*Section](c)
	if section == nil || !section.here {
		return nil
	}
	cluster := cmp.Or(c.Node.Cluster, unnamed)
	if !section.led {
		section, cluster = section.local(), cluster+"/"+lasting(c, node)
	}
	u := &setup{section: section, place: receiver.Place{Cluster: c.Node.Cluster, PublicURL: c.Node.PublicURL}, texts: map[string]receiver.Texts{}}
	if notify := config.Of[*receiver.Section](c); notify != nil {
		u.named, u.receivers = notify.All(), notify.Open(os.Getenv, fault)
	}
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

// is reports whether a reading has changed nothing: secrets that are new in their files count at the next one that does.
func (u *setup) is(other *setup) bool {
	return u == nil && other == nil || u != nil && other != nil && u.cfg.Hash == other.cfg.Hash && u.cfg.Cluster == other.cfg.Cluster &&
		u.place == other.place && reflect.DeepEqual(u.section.own, other.section.own) && reflect.DeepEqual(u.named, other.named)
}

// teller tells receivers of messages. May is asked before each write; nil: nobody is.
func (u *setup) teller(may func() error) *receiver.Teller {
	return &receiver.Teller{Receivers: u.receivers, Place: u.place, Texts: func(rule string) receiver.Texts { return u.texts[rule] }, May: may}
}

// hearts are the receivers that are called while alerts are evaluated.
func (u *setup) hearts() []*receiver.Receiver {
	return slices.DeleteFunc(slices.Clone(u.receivers), func(r *receiver.Receiver) bool { return !r.Beats() })
}

// receiver returns one by its name; nil: there is none.
func (u *setup) receiver(name string) *receiver.Receiver {
	if at := slices.IndexFunc(u.receivers, func(r *receiver.Receiver) bool { return r.Name == name }); at >= 0 {
		return u.receivers[at]
	}
	return nil
}
