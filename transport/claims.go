package transport

import "bytes"

// Claims are what a node says of one subject: short values by key, such as the hash of each contract's declaration. The
// reader judges them; a transport only carries them.
type Claims map[string][]byte

// Clone returns a copy that shares nothing with the claims.
func (c Claims) Clone() Claims {
	own := make(Claims, len(c))
	for key, value := range c {
		own[key] = bytes.Clone(value)
	}
	return own
}

// Claimer is what an endpoint can do besides, so that two nodes find out what they see differently before they work
// together. It is safe for concurrent use.
type Claimer interface {
	// Claim replaces what this node says under a subject. Each peer hears it when the two connect, and when it changes.
	// The claims are copied. The error says which limit they break.
	Claim(subject string, claims Claims) error
	// Claimed returns what a peer last said under a subject. It is false if the peer has not been heard yet; a peer that
	// was heard and said nothing under it has none.
	Claimed(peer, subject string) (Claims, bool)
}
