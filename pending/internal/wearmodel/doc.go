// Package wearmodel is a model of the rules of what wears out, and of accounts that begin anew (Z3–Z8, W1): one intent, its attempts, a
// stranger with the key, upgrades, a reaping, and two branches of up to two blocks on the final one. Stored bytes may get into any block
// that takes them, however late: a leader that was killed or frozen may send them, and so may everybody who has seen them. A leader may read
// any head, also one of a branch that dies. Heights are counted from the final block, so time has no end: all states that can be reached
// are visited.
//
// With all rules the intent is in the final chain once at most, and what was said of it is true; in one world alone, that of a key that is
// shared, they do not suffice. It is no machine: the rules are those of pending's machine_wear.go, machine_life.go and machine_proving.go.
package wearmodel
