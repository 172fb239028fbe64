//go:build unix

package bench

import (
	"fmt"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/agents"
)

// add adds a run of many nodes.
func (e *atEase) add(nodes int, m metered, messages, bytes float64) {
	each := func(all float64) float64 { return all / float64(nodes) / m.took.Seconds() }
	e.messages, e.bytes = append(e.messages, each(messages)), append(e.bytes, each(bytes))
	if m.wire > 0 { // else this system does not tell
		e.wire = append(e.wire, each(float64(m.wire)))
	}
	if m.processor > 0 {
		e.processor = append(e.processor, each(float64(m.processor.Microseconds())))
	}
}

// meter reads what the system counts.
type meter struct {
	pids      []int
	began     time.Time
	processor time.Duration
	wire      uint64
}

// metered is what it has counted meanwhile.
type metered struct {
	took, processor time.Duration
	wire            uint64 // bytes on the loopback, of all programs; 0: the system does not tell
}

func startMeter(pids ...int) meter {
	return meter{pids: pids, began: time.Now(), processor: spent(pids...), wire: loopback()}
}

func (m meter) stop() metered {
	return metered{took: time.Since(m.began), processor: spent(m.pids...) - m.processor, wire: loopback() - m.wire}
}

// reportCrowd prints what was measured of a crowd. Without another library its figures are alone.
func reportCrowd(r *Report, a amounts, ours, listed, served found, flooded []time.Duration) {
	r.add("killed_samples", float64(len(ours.crashes)), "kills")
	r.spread("killed_to_all", ours.crashes, listed.crashes)
	r.beside("killed_to_all_rounds", float64(quantile(ours.crashes, 1))/float64(agents.Round), askedRounds, "rounds")
	if least := quantile(listed.crashes, 0.5); least > 0 {
		r.beside("killed_to_all_ratio", float64(quantile(ours.crashes, 0.5))/float64(least), askedOfMemberlist, "of memberlist")
	}
	r.spread("news_beside_serf", ours.news, served.news)
	r.spread("news_beside_flood", ours.news, flooded)
	r.add("news_missed", float64(ours.missed), "nodes")
	if len(served.news) > 0 {
		r.add("news_missed_serf", float64(served.missed), "nodes")
	}
	for _, peer := range []struct {
		name string
		found
	}{{"memberlist", listed}, {"serf", served}} {
		for _, one := range []struct {
			name, unit string
			of         func(atEase) []float64
		}{
			{"bytes", "bytes/s", func(e atEase) []float64 { return e.bytes }},
			{"messages", "messages/s", func(e atEase) []float64 { return e.messages }},
			{"wire", "bytes/s", func(e atEase) []float64 { return e.wire }},
			{"processor", "µs/s", func(e atEase) []float64 { return e.processor }},
		} {
			if value := median(one.of(ours.rest)); value > 0 {
				r.beside(fmt.Sprintf("rest_%d_%s_beside_%s", a.crowd, one.name, peer.name), value, median(one.of(peer.rest)), one.unit)
			}
		}
	}
	r.add(fmt.Sprintf("rest_%d_bytes_electors", a.crowd), median(ours.rest.electors), "bytes/s")
	for _, peer := range []struct {
		name string
		found
	}{{"memberlist", listed}, {"serf", served}} {
		r.beside("cold_beside_"+peer.name+"_p50", ms(quantile(ours.cold, 0.5)), ms(quantile(peer.cold, 0.5)), "ms")
	}
}
