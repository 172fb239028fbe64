package rules

import "github.com/conchhq/conch/chain"

// Event is what the runtime told while it made a block.
type Event struct {
	Extrinsic int // whose it is, by its place in the block; below 0: no extrinsic's
	Pallet    string
	Name      string
	// Failure names the dispatch error that the event has in it, such as "Token.BelowMinimum"; empty if it has none.
	Failure string
}

const (
	system    = "System"
	succeeded = "ExtrinsicSuccess"
	failed    = "ExtrinsicFailed"
	unnamed   = "an error without a name"
)

// EffectOf returns what an extrinsic has done, as the events of its block say (Z10). A batch, a proxy, a multisig or sudo succeeds although
// what it carried has failed; only an event of its own has that error. Without a word of the extrinsic it is not known.
func EffectOf(events []Event, extrinsic int) (e chain.Effect) {
	inner := ""
	for _, one := range events {
		switch {
		case one.Extrinsic != extrinsic:
		case one.Pallet == system && one.Name == succeeded:
			e.Kind = chain.EffectOK
		case one.Pallet == system && one.Name == failed:
			return chain.Effect{Kind: chain.EffectFailed, Why: nameOf(one.Failure)}
		case one.Failure != "" && inner == "":
			inner = one.Pallet + "." + one.Name + ": " + one.Failure
		}
	}
	if e.Kind == chain.EffectOK && inner != "" {
		return chain.Effect{Kind: chain.EffectPartly, Why: inner}
	}
	return e
}

func nameOf(failure string) string {
	if failure == "" {
		return unnamed
	}
	return failure
}
