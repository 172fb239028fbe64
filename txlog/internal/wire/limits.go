package wire

import (
	"time"

	"github.com/conchhq/conch/transport"
)

// Version is the version of the format that this package writes. It reads that one and all before it.
const Version = 1

// What a message may hold, in bytes unless said otherwise. Encode and Decode refuse more with ErrSize.
const (
	MostMessage = transport.MostBody  // of a message
	MostQuorum  = MostMessage - 1<<10 // of the body of a Quorum
	mostWaited  = time.Hour           // that an answer says its request was held; longer ones are said to be that
	mostWhy     = 1 << 10             // of a text that says why something failed; longer ones are cut
)
