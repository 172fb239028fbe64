package crowd

import (
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/spray"
)

// rule is a rule of the design that a run can leave out, and the world in which that shows.
type rule struct {
	sim.RuleInfo
	scene    string
	electors int
	loss     int    // in percent, as stalls
	seed     uint64 // with which it has shown; 1 if 0
}

// Rules lists the rules that can be broken.
func Rules() []sim.RuleInfo {
	var all []sim.RuleInfo
	for _, r := range rules {
		all = append(all, r.RuleInfo)
	}
	return all
}

func findRule(name string) *rule {
	for i := range rules {
		if rules[i].Name == name {
			return &rules[i]
		}
	}
	return nil
}

// Shows returns a seed with which a broken rule has shown.
func Shows(name string) uint64 {
	if r := findRule(name); r != nil {
		return max(r.seed, 1)
	}
	return 1
}

var rules = []rule{
	info(gossip.OwnSignature, Agreement, "only its subject signs a heartbeat; otherwise a faulty relay refreshes a leader that is dead").in("forger", 0),
	info(gossip.NoWallClock, Agreement, "a heartbeat has a sequence and an age in rounds; with its subject's clock in it, a host whose clock is behind leads itself for ever, and one whose clock is ahead is never missed").in("crash", 0),
	info(gossip.FirstCopy, Agreement, "the first copy of a heartbeat fixes its age; if a younger copy counts, the time on the way leaks away, and a dead leader lives on").in("crash", 0).stalled(20),
	info(gossip.AgeTravels, Agreement, "a relay says how old a heartbeat is; otherwise newcomers pass a dead leader's last word on to newcomers as if it were new").in("electors-die", 7),
	info(gossip.ClaimIsSaid, Agreement, "a heartbeat says whether its subject leads; otherwise everybody follows a leader that has stepped down").in("withdrawn", 7),
	info(gossip.ListenFirst, NoNeedless, "a newcomer, and a node that was cut off, listens for three beats, and a node that hears nobody raises no reign; otherwise those that return depose the leader of all").in("frozen", 7).seeded(7),
	info(gossip.ElectorMajority, NoNeedless, "an elector raises a reign only while it hears a majority of them; otherwise a minority deposes the leader when the network heals").in("minority", 7),
	info(gossip.StepDown, Agreement, "a leader that hears nobody, or whose user says that it cannot work, steps down; otherwise a deaf leader leads for ever").in("deaf", 0),
	info(gossip.ElectorsOnly, BadRefused, "with electors the claim of anybody else counts for nothing; otherwise one faulty node with the largest reign leads everybody").in("runaway", 7),
	info(gossip.AmongElectors, NoNeedless, "an elector believes what the crowd brings of another one only if it has met that by way of electors since it started; otherwise a member that brings old words of a dead leader as if they were new deposes one that works").in("replay", 7),
	info(gossip.OldIsOld, Agreement, "the last word of an elector is remembered for as long as a node runs; otherwise the crowd believes old words of a dead leader while nobody leads").in("replay-nobody", 7),
	info(spray.PeerCache, OnePiece, "a node remembers sixteen peers that it has met, and keeps five neighbours; otherwise half a crash parts one cluster of 50 nodes in ten").in("half-crash", 0).seeded(3),
}

func info[R gossip.Rule | spray.Rule](broken R, invariant, why string) rule {
	return rule{RuleInfo: sim.RuleInfo{Name: string(broken), Invariant: invariant, Why: why}}
}

// in names the world in which a rule shows.
func (r rule) in(scene string, electors int) rule {
	r.scene, r.electors = scene, electors
	return r
}

// seeded names the seed with which a rule shows, if it does not with the first.
func (r rule) seeded(seed uint64) rule {
	r.seed = seed
	return r
}

// stalled names the loss with which a rule shows.
func (r rule) stalled(loss int) rule {
	r.loss = loss
	return r
}
