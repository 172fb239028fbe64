package agent_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/agent"
	"github.com/conchhq/conch/gossip/spray"
	spraywire "github.com/conchhq/conch/gossip/spray/wire"
	"github.com/conchhq/conch/gossip/wire"
	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

const (
	floodTime  = 5 * time.Second
	floodPause = 50 * time.Millisecond // between two parcels
)

// One node that is no elector and floods the electors over TLS, with valid news of made-up keys, deposes no leader that works, also
// where the processors have other work: it changes only where it does without a flood. It is for the night, when the machine has nothing else to do.
func TestFloodsDeposeNobody(t *testing.T) {
	runtest.NightRun(t)
	const floods = 20
	parcels := junk(t, int(floodTime/floodPause))
	for range 4 {
		proctest.Start(t, exec.Command("/bin/sh", "-c", "while :; do :; done"))
	}
	deposed := 0
	for i := range floods {
		t.Run(fmt.Sprint("flood ", i+1), func(t *testing.T) {
			calm, changes, refused := flooded(t, parcels)
			t.Logf("another leader came %d times, and %d times before, and %d statements were left out", changes, calm, refused)
			if changes > 0 && calm == 0 {
				deposed++
			}
			if refused == 0 {
				t.Error("this was no flood")
			}
		})
	}
	if t.Logf("in %d of %d floods another leader came", deposed, floods); deposed > 0 {
		t.Fail()
	}
}

// junk returns parcels with as much news as they hold, each piece of another key.
func junk(t *testing.T, parcels int) (all [][]byte) {
	for range parcels {
		var p wire.Parcel
		for range wire.MostSaid {
			_, private, err := ed25519.GenerateKey(nil)
			if err != nil {
				t.Fatal(err)
			}
			key, err := gossip.NewPinned(private)
			if err != nil {
				t.Fatal(err)
			}
			p.Said = append(p.Said, word(key.Subject(), key, 1, "junk", nil))
		}
		body, err := wire.Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, body)
	}
	return all
}

// flooded has a node flood three electors, and returns how often another leader came, in as much time before and with that, and how much was left
// out.
func flooded(t *testing.T, parcels [][]byte) (calm, changes int, refused uint64) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	all := prepared(t, 4, 4)
	electors, guest := all[:3], all[3]
	for _, p := range electors {
		p.run(t)
	}
	online, cut := context.WithCancel(t.Context())
	down := make(chan error, 1)
	go func() { down <- guest.end.Run(online) }()
	defer func() { cut(); <-down }()
	news, err := guest.end.Open(agent.LineGossip)
	if err != nil {
		t.Fatal(err)
	}
	views, err := guest.end.Open(agent.LineSpray)
	if err != nil {
		t.Fatal(err)
	}
	hello, err := spraywire.Encode(spray.Hello{Address: guest.end.Addr().String(), Incarnation: 1, Holds: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range electors {
		guest.end.Connect(p.name, p.end.Addr().String())
	}
	eventually(ctx, t, electors, "one leads, and the guest is heard", func(p *process, s agent.Status) bool {
		heard := false
		for _, n := range s.Neighbours {
			heard = heard || n.Name == guest.name
		}
		if !heard {
			_ = views.Send(p.name, hello)
		}
		return heard && s.Namespaces[0].Leader.Name != "" && s.Namespaces[0].Leader.Subject == electors[0].agent.Status().Namespaces[0].Leader.Subject
	})
	count := func() (changes int) {
		for _, p := range electors {
			changes += p.agent.Status().Namespaces[0].Changes
		}
		return changes
	}
	before := count()
	tick := time.NewTicker(floodPause)
	defer tick.Stop()
	for range parcels {
		<-tick.C
	}
	between := count()
	for _, body := range parcels {
		for _, p := range electors {
			_ = news.Send(p.name, body)
		}
		<-tick.C
	}
	for _, p := range electors {
		for _, n := range p.agent.Status().Counts.Refused {
			refused += n
		}
	}
	return between - before, count() - between, refused
}
