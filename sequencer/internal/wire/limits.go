package wire

import (
	"time"

	"github.com/conchhq/conch/transport"
)

// Version is the version of the format that this package writes. It reads that one and all before it, but for a Handover with
// entries: that of version 1 has no proofs, and is malformed.
const Version = 2

// What a message may hold. Encode and Decode refuse more with ErrSize. A whole message has transport.MostBody at most,
// which a machine keeps by [Size] and by the Size of an item.
const (
	// MostItems is how many items one list may have: intents, steps, results, attempts, states with their data.
	MostItems = 16_384
	// MostNames is how many names one list may have: of states or attempts (32 bytes each), or sequences (16 bytes).
	MostNames = 65_536
	// MostStates is how many inputs an attempt may have, how many reads, and how many outputs. Package domain says so too.
	MostStates = 256
	// MostAttempt is how much of a message one attempt may take with its payload and its states, in bytes: every
	// attempt that keeps it can be sent, if need be alone.
	MostAttempt = transport.MostBody / 4
	// MostPayload is the largest payload, in bytes.
	MostPayload = 256 << 10
	// MostData is the most data of a state, and of an attempt for the ledger, in bytes. Package domain says so too.
	MostData = 64 << 10
	// MostAccount is the longest account, in bytes.
	MostAccount = 128
	// MostSignature is the longest signature, in bytes.
	MostSignature = 1 << 10
	// MostSigned is how many endorsements an attempt may come with.
	MostSigned = 8 * MostEndorsers
	// MostContract is the longest address of a contract, in bytes.
	MostContract = 256
	// MostEndorsers is the longest list of endorsers, in bytes, with a bit for each member of a contract.
	MostEndorsers = 32
	// MostText is the longest text for an operator, in bytes. Encode cuts what is longer: an error of a domain's rules
	// may have any length, and its answer has to arrive.
	MostText = 1 << 10
	// MostWait is the longest time for which anybody waits.
	MostWait = time.Hour
)
