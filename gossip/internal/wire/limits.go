package wire

// Version is the version of the format that this package writes. It reads that one and all before it.
const Version = 1

// What a parcel may hold. Encode and Decode refuse more with ErrSize.
const (
	// MostBody is the largest body of a statement, in bytes.
	MostBody = 1 << 10
	// MostSignature is the longest signature, in bytes.
	MostSignature = 128
	// MostName is the longest namespace, topic or host, in bytes.
	MostName = 64
	// MostSaid is how many statements a parcel may have.
	MostSaid = 256
	// MostMarks is how many marks a parcel may have, and how many wants.
	MostMarks = 1024
	// MostAge is the largest age, in rounds: a day of the shortest rounds that make sense.
	MostAge = 1 << 23
	// MostParcel is the largest parcel, in bytes.
	MostParcel = 512 << 10
	// MostReign is the last reign. There are 2⁶³ of them, so only somebody who claims one out of order comes near.
	MostReign = 1 << 63
)
