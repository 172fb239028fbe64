package gossip

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/transport/mtls"
)

// Trouble is something that a running node knows of itself, and what to do about it. conch status, conch doctor and the API say the same.
type Trouble struct {
	Detail string `json:"detail"`
	Remedy string `json:"remedy"`
	Grave  bool   `json:"grave"` // it keeps somebody from leading, or this node from the overlay
}

// inUTC is the clock of those that are anywhere.
func inUTC(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// troublesOf returns what is wrong at a node, the gravest first.
func troublesOf(n Nodes, at func(time.Time) string) (all []Trouble) {
	for _, one := range n.Namespaces {
		all = append(all, unled(n, one, at)...)
	}
	all = append(all, alone(n)...)
	all = append(all, refusing(n, at)...)
	for _, p := range n.Neighbours {
		if len(p.Differs) > 0 {
			all = append(all, Trouble{Detail: fmt.Sprintf("%s has other %s in [gossip] than %s", p.Name, strings.Join(p.Differs, ", "), n.Self), Remedy: "correct one of both"})
		}
	}
	for _, t := range n.Twins {
		if !t.Over {
			all = append(all, Trouble{
				Detail: fmt.Sprintf("two hosts have the key or the name of %s, and one of them is not heard (last seen %s)", plain(t.Name), at(t.LastSeen)),
				Remedy: "give each an identity of its own",
			})
		}
	}
	return all
}

// unled says why nobody can begin to lead in a namespace, as far as this node can know it.
func unled(n Nodes, one Namespace, at func(time.Time) string) []Trouble {
	switch {
	case one.MajorityLost != nil:
		needed := len(one.Electors)/2 + 1
		return []Trouble{{Grave: true,
			Detail: fmt.Sprintf("%s hears %d of the %d electors of %s, itself counted, and a new leader needs %d: no majority since %s; silent: %s",
				n.Self, len(one.Electors)-len(one.ElectorsSilent), len(one.Electors), one.Namespace, needed, at(*one.MajorityLost), strings.Join(one.ElectorsSilent, ", ")),
			Remedy: "start those nodes, or mend the network between them and this one. If most of them are gone for good, name others in gossip.electors of all nodes and restart them",
		}}
	case one.UnledSince != nil && len(one.Electors) > 0 && one.State == "bystander" && n.AsOf.Sub(*one.UnledSince) > milliseconds(one.ValidMS):
		return []Trouble{{
			Detail: fmt.Sprintf("%s hears no leader of %s since %s, and is none of the electors, so it cannot hear how many of them are there", n.Self, one.Namespace, at(*one.UnledSince)),
			Remedy: "ask the electors: conch status --gossip on " + strings.Join(one.Electors, ", "),
		}}
	}
	return nil
}

// alone says why a node has no neighbour.
func alone(n Nodes) []Trouble {
	if len(n.Neighbours) > 0 || !n.Overlay.Joining || len(n.Contacts) == 0 {
		return nil
	}
	var why, remedies []string
	for _, u := range n.Unreached {
		if slices.Contains(n.Contacts, u.Name) {
			does, remedy := whyNot(u.Why)
			why = append(why, fmt.Sprintf("%s %s", u.Name, does))
			if !slices.Contains(remedies, remedy) {
				remedies = append(remedies, remedy)
			}
		}
	}
	switch {
	case len(why) == 0:
		return nil // they were not tried yet
	case len(why) < len(n.Contacts):
		return []Trouble{{Detail: fmt.Sprintf("%s has no neighbour yet: %s", n.Self, strings.Join(why, "; ")), Remedy: "wait until the other contacts were tried"}}
	}
	return []Trouble{{Grave: true,
		Detail: fmt.Sprintf("%s has no neighbour, since no contact lets it in: %s", n.Self, strings.Join(why, "; ")),
		Remedy: strings.Join(remedies, "; "),
	}}
}

// refusing names the peers that want nothing of this node: they know that, and this node's user does not.
func refusing(n Nodes, at func(time.Time) string) (all []Trouble) {
	var names []string
	since := time.Time{}
	for _, u := range n.Unreached {
		if mtls.Reason(u.Why) == mtls.RefusedUs {
			if names = append(names, u.Name); since.IsZero() || u.Since.Before(since) {
				since = u.Since
			}
		}
	}
	twin := slices.ContainsFunc(n.Twins, func(t Twin) bool { return t.Name == n.Self && !t.Over })
	if len(names) == 0 || twin { // a second host is refused too, and for that
		return nil
	}
	return []Trouble{{
		Detail: fmt.Sprintf("%s %s this node since %s: most likely they do not expect the key or certificate of %s; their logs say why", strings.Join(names, ", "),
			map[bool]string{true: "refuses", false: "refuse"}[len(names) == 1], at(since), n.Self),
		Remedy: fmt.Sprintf("have their [[peers]] say key = %q for %s. Where a CA proves nodes, they need that CA in identity.ca, and this node a certificate of it for the name %s that has not ended", n.Fingerprint, n.Self, n.Self),
	}}
}

// whyNot says what a peer to which nothing could be sent does, and what helps.
func whyNot(reason string) (does, remedy string) {
	switch mtls.Reason(reason) {
	case mtls.Unreachable:
		return "does not answer", "start a node that does not answer, and open its port for this one"
	case mtls.RefusedUs:
		return "refuses this node", "a contact that refuses this node says why in its log"
	case mtls.Expired:
		return "shows a certificate that has ended, or that of its CA has", "renew a certificate that has ended on its own node, or correct the clock here"
	case mtls.WrongKey, mtls.UnknownKey, mtls.OtherCA, mtls.OtherName, mtls.NoCertificate:
		return "does not prove who it is (" + reason + ")", "compare the key or CA of a contact in [[peers]] with what conch identity show says there"
	case mtls.Ended: // the word that refuses may be lost with the connection
		return "ended the connection before it answered: it may refuse this node", "a contact that refuses this node says why in its log"
	case mtls.Crowded:
		return "has no room", "wait for a contact that has no room, or name others in gossip.contacts"
	}
	return "could not be reached (" + reason + ")", "start a node that does not answer, and open its port for this one"
}
