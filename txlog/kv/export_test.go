package kv

// MostListed is the number of entries in one answer at most.
const MostListed = mostListed
