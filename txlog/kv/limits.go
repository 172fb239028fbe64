package kv

import "github.com/conchhq/conch/txlog"

// Machine is the name of this state machine, and its version. What executes, applies or hashes otherwise has another one.
const Machine = "kv/1"

// The limits, in bytes unless said otherwise. A goal that breaks one has failed.
const (
	mostKey     = 512             // of a key
	mostValue   = 32 << 10        // of a value, written as short as it can be
	mostOps     = 100             // number of operations of one goal
	mostKeys    = 1 << 19         // number of keys
	mostContent = txlog.MostState // of all keys and values, with one to three bytes for the length of each
	mostListed  = 1_000           // number of entries in one answer
	mostAnswer  = 1 << 20         // of the entries in one answer
	listed      = 100             // number of entries in an answer if the query does not say
)

const maxExponent = 1_000 // of ten, in a number: no program reads larger ones
