//go:build unix

package board

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/gossiptest"
	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/transport/mtls"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/prolog"
	"github.com/conchhq/conch/txlog/quorum/disk"
)

// settings are what a node is started with.
type settings struct {
	seat

	Bare    bool     `json:"bare,omitempty"`
	Prolog  bool     `json:"prolog,omitempty"`
	Self    int      `json:"self"` // its place among the members
	Members []string `json:"members"`
	File    string   `json:"file"` // with its key
	Store   string   `json:"store,omitempty"`
	Roams   bool     `json:"roams,omitempty"` // one connection carries both directions, as those of gossip
	Peers   []seat   `json:"peers"`           // with whom it is connected; those without an address call
}

// seat is where a node is met.
type seat struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty"`
	Key     string `json:"key"` // its fingerprint
}

// prepare makes keys, addresses and stores. The members come first. All members are connected with each other; with followers,
// the nodes are an overlay beside that.
func (s Shape) prepare(ctx context.Context) (all []settings, g txlog.Genesis, err error) {
	g = txlog.Genesis{Namespace: "bench", Machine: kv.Machine}
	if s.Prolog {
		g.Machine = prolog.Machine
	}
	var names []string
	for i := range s.Members + s.Followers {
		one := settings{Bare: s.Bare, Prolog: s.Prolog, Self: i, Roams: s.Followers > 0, seat: seat{Name: fmt.Sprint("follower-", i-s.Members+1)}}
		if i < s.Members {
			one.Name = fmt.Sprint("member-", i+1)
			if one.Address, err = fleet.LowPort(ctx); err != nil {
				return nil, g, err
			}
		}
		one.File = filepath.Join(s.Dir, one.Name+".key")
		identity, err := mtls.CreateIdentity(one.File)
		if err != nil {
			return nil, g, err
		}
		one.Key = identity.Fingerprint().String()
		if i < s.Members {
			names, one.Store = append(names, one.Name), filepath.Join(s.Dir, one.Name)
			id, err := disk.Create(ctx, one.Store)
			if err != nil {
				return nil, g, err
			}
			g.Members = append(g.Members, txlog.Member{Name: one.Name, Key: txlog.Hash(identity.Fingerprint()), Store: id})
		}
		all = append(all, one)
	}
	g = g.With()
	s.connect(all)
	for i := range all[:s.Members] {
		all[i].Members = names
		store, err := disk.Begin(ctx, all[i].Store, g)
		if err != nil {
			return nil, g, err
		}
		if err := store.Close(); err != nil {
			return nil, g, err
		}
	}
	return all, g, nil
}

// connect says who is connected with whom. Where one connection is enough the later node calls the earlier one, which listens by then.
func (s Shape) connect(all []settings) {
	on := make([][]int, len(all))
	if s.Followers > 0 {
		on = gossiptest.Grow(len(all), 1)
	}
	for i := range all {
		for j := range all {
			if i == j || max(i, j) >= s.Members && !slices.Contains(on[i], j) {
				continue
			}
			peer := all[j].seat
			if s.Followers > 0 && j > i {
				peer.Address = ""
			}
			all[i].Peers = append(all[i].Peers, peer)
		}
	}
}

// endpoint prepares a node's place in the network, which listens already.
func (s settings) endpoint() (*mtls.Endpoint, error) {
	c := mtls.Config{Self: s.Name, Listen: s.Address, Key: s.File, Roam: s.Roams}
	if s.Roams {
		c.Keepalive = time.Minute // a process that runs hundreds of nodes is busy with one entry for longer than a node may be silent
	}
	for _, p := range s.Peers {
		url := ""
		if p.Address != "" {
			url = "https://" + p.Address
		}
		c.Peers = append(c.Peers, mtls.Peer{Name: p.Name, URL: url, Key: p.Key})
	}
	end, err := mtls.New(c)
	if err != nil || !s.Roams {
		return end, err
	}
	for _, p := range s.Peers {
		if p.Address != "" {
			end.Connect(p.Name, p.Address)
		}
	}
	return end, nil
}
