package providertest

import "time"

// Profile is the behaviour of one real kind of provider.
type Profile struct {
	Name    string // a word for -run
	Who     string // which real provider does this
	Finding string // the finding that it belongs to
	// Install gives a provider its behaviours, before it serves. Nil: it answers as the node does.
	Install func(p *Provider)

	Intents int           // how many have to be sent at once, so that the profile matters; 0: any number
	Depth   uint64        // the finality to configure, in blocks; 0: the chain's own
	WS      bool          // the provider is used over a WebSocket
	Timeout time.Duration // of a request; 0: a generous one
	Calls   int           // the calls a second to configure; 0: they are learned
	Own     []string      // flags of a node of its own, since the profile breaks the chain
	Fault   string        // when the switch of the fault is on: passing, takeover, lasting or directed; empty: there is none
	Blocks  uint64        // how many blocks a passing fault lasts
	// FewSlots says that the pool refuses what is above a few slots of an account: how many is to be learned, so that
	// few sends are refused.
	FewSlots bool
	// Harmless says that the provider may change no answer: the node or the line is what differs.
	Harmless bool
	// Says are words for what is wrong. While what a lasting fault stops waits, a reason with one of them has
	// to be told, and it has to name the endpoint.
	Says []string
}

// When the fault of a profile is on.
const (
	Always   = ""         // the profile has no switch
	Passing  = "passing"  // from the start on, for some blocks
	Takeover = "takeover" // from when a second leader begins, until the provider has told its lie once
	Lasting  = "lasting"  // to the end; what it stops waits, and says why
	Directed = "directed" // a test of its own turns the switch
)

// Profiles returns all profiles. With full, their numbers are those of the real providers; else they are
// smaller, so that the same happens within seconds.
func Profiles(full bool) []Profile {
	var all []Profile
	for _, part := range []func(bool) []Profile{
		limitProfiles, rateProfiles, finalityProfiles, tagProfiles, backendProfiles, lieProfiles, poolProfiles, lossProfiles, dataProfiles, worstProfiles,
		answerProfiles, socketProfiles, badProfiles,
	} {
		all = append(all, part(full)...)
	}
	return all
}

// pick returns the number of a real provider, or the small one that shows the same.
func pick[T any](full bool, real, small T) T {
	if full {
		return real
	}
	return small
}
