package ranking

import "slices"

// The policies' names, as declarations and users write them.
const (
	RendezvousName = "rendezvous"
	RingName       = "ring"
)

// Names returns the names of all policies, the default first.
func Names() []string { return []string{RendezvousName, RingName} }

// Default returns the name by which a policy is hashed and found: a name that is left out is that of Rendezvous.
func Default(name string) string {
	if name == "" {
		return RendezvousName
	}
	return name
}

// Named returns the policy of a name, and false if there is none.
func Named(name string) (Policy, bool) {
	at := slices.Index(Names(), Default(name))
	if at < 0 {
		return nil, false
	}
	return []Policy{Rendezvous{}, Circle{}}[at], true
}
