// Package kv is a store of keys and values for a log: flags, allow lists, revocations, routes, counters. It is the first
// state machine, and the model for others.
//
// # Goals
//
// A goal is an object of JSON. It is one operation, or a list of them that happens as a whole or not at all:
//
//	{"op":"put","key":"flags/dark","value":true}           sets a value
//	{"op":"put","key":"logo","base64":"iVBORw0KGgo="}       sets bytes
//	{"op":"delete","key":"flags/dark"}                     removes a key; one that is not there is no fault
//	{"op":"cas","key":"owner","expect":"ann","value":"bob"}  sets it if it is what is expected
//	{"op":"cas","key":"owner","absent":true,"value":"bob"}   sets it if the key is not there
//	{"op":"add","key":"visits","by":2}                     counts; a key that is not there is 0, and by is 1 by default
//	{"op":"check","key":"owner","expect":"bob"}            changes nothing, and fails if it is something else
//	{"ops":[{"op":"check",…},{"op":"put",…}]}              each sees what those before it have done
//
// A key is a text without control characters. A value is any value of JSON, null too, or bytes, which are given as "base64"
// (and expected as "expect_base64"). Two values are the same if they say the same: spaces, the order of names, and
// how a number is written make no difference, and a number is never rounded. A list is given back in that one form.
//
// The result is an object, for a list of operations a list of them: {"created":true} of put and cas, {"deleted":true},
// {"value":7} of add, {} of check. A goal that fails changes nothing, and its fault begins with its kind: "bad goal: " is
// the sender's mistake, "conflict: " says what is there instead: read it, and try again, "limit: " says which one and what to do.
//
// # Queries
//
//	{"get":"flags/dark"}                         {"key":"flags/dark","value":true,"found":true}
//	{"prefix":"flags/","limit":100,"after":""}   {"entries":[{"key":"flags/dark","value":true}],"more":false}
//	{"count":"flags/"}                           {"count":1}
//
// A list is sorted by key. If there is more than the limit, or than fits, "more" is true, and the same query with
// "after" as the answer has it goes on. Between the two the store may have changed: as_of says at which index each is.
//
// # How to write another state machine
//
// A log needs a [txlog.State]: six methods. Its rules follow from one fact: the leader alone executes a goal, and everybody
// else applies the diff that came of it and compares the hash. Here it is for a machine that keeps a map of texts.
//
// Its fields are what goals change, how much there is of it, and the tree that hashes it, which are kept as the data changes. The items of the
// tree are the bytes of one entry each; two entries never have the same bytes (a text in front of another one has its length before it):
//
//	type machine struct {
//		texts map[string]string
//		size  int // of all items
//		tree  txlog.Tree
//	}
//
//	const most = txlog.MostState / 8 // of the size: JSON may write one byte as six
//
//	func item(key, text string) []byte { return fmt.Appendf(nil, "%d:%s%s", len(key), key, text) }
//
// Execute decides. It reads the data, changes nothing, and returns what is to change as bytes: for each thing its name, what is there now
// and what is to be there, sorted by name. Names are those that goals use, never a place in memory or a number that this node alone has
// (V5). Whatever is wrong is [txlog.Failed] with a sentence for its sender: a goal that is no goal, one that is not allowed, one that is
// too large. Do not look at a clock, do not draw a number, do not iterate over a map without sorting: write into the goal what the sender
// has to choose. Limit what a goal may take, the whole of the data too (its snapshot has at most txlog.MostState bytes). All other goals
// wait while one is executed, so it has a budget of steps: call Spend in each loop, with what a turn costs, also in one that surely ends,
// and with the length of what is read or written as a whole, unless limits bound that to a few milliseconds, as this package's do. When the
// budget is used up, Spend does not return, and the goal has failed: nothing has to be tidied up, since Execute changes nothing. Spend in
// the goroutine of Execute alone. A mail, a call or a payment is never made here: it is a [txlog.Effect] of the outcome, performed after
// the commit, at least once, by the Perform of the host.
//
//	type change struct{ Key, Before, After string }
//
//	func (m *machine) Execute(goal []byte, budget *txlog.Budget) txlog.Outcome {
//		budget.Spend(len(goal))
//		var g struct{ Key, Text string }
//		if err := json.Unmarshal(goal, &g); err != nil || g.Key == "" {
//			return txlog.Failed(`a goal is {"Key":…,"Text":…}`)
//		}
//		before := m.texts[g.Key]
//		budget.Spend(len(before))
//		if len(g.Text) > len(before) && m.size+len(item(g.Key, g.Text)) > most {
//			return txlog.Failed("there is no room: make a text shorter first")
//		}
//		diff, _ := json.Marshal([]change{{g.Key, before, g.Text}})
//		return txlog.Outcome{Result: []byte(`"done"`), Diff: diff}
//	}
//
// Apply makes the changes, all or none: it looks at every value before first, and answers txlog.ErrDiff, wrapped, if one is
// not what is here, and txlog.ErrMalformed for bytes that are no diff. Then memory is wrong somewhere, and must not spread. A diff
// of no bytes changes nothing. One function makes each change and keeps the tree, for Apply as for Restore:
//
//	func (m *machine) set(key, before, after string) {
//		if before != "" {
//			m.tree.Remove(item(key, before))
//			m.size -= len(item(key, before))
//			delete(m.texts, key)
//		}
//		if after != "" {
//			m.tree.Add(item(key, after))
//			m.size += len(item(key, after))
//			m.texts[key] = after
//		}
//	}
//
// Hash returns m.tree.Hash(). A member's signature covers the state by this hash alone, and any node may serve the state to others: a hash
// of your own must be one of which nobody finds two states, however the items are chosen, so no sum and no XOR of hashes. Snapshot writes
// everything down, sorted, so that equal data are equal bytes (encoding/json sorts the keys of a map). Restore forgets everything, the tree too, reads a snapshot and calls set for each entry: so the hash is
// that of what is there, and a scrub finds what memory has lost. All of them take any bytes without a panic.
//
// View returns the data as they are now, and its Query answers from them; what is no query is an error. Users ask a view while goals
// change the machine, so it shares nothing with it that changes: here it has a clone of the map. One is taken for each entry after
// which somebody asks, so a machine with much data shares the parts that have not changed, as this package does. A query keeps no goal
// waiting, but it keeps a processor busy and others from asking, so it has a budget too, of as many steps: call Spend as in Execute, with the
// length of the query and in each loop. One that uses it up is refused. If a query may go over all of the data, let the asker say where to
// begin and how much to give back, so that a large state can be read in several queries.
//
//	func (m *machine) View() txlog.View { return &machine{texts: maps.Clone(m.texts)} }
//
//	func (m *machine) Query(query []byte, budget *txlog.Budget) ([]byte, error) {
//		budget.Spend(len(query))
//		all := []string{}
//		for key := range m.texts {
//			if budget.Spend(1 + len(key)); strings.HasPrefix(key, string(query)) {
//				all = append(all, key)
//			}
//		}
//		slices.Sort(all)
//		return json.Marshal(all)
//	}
//
// A scrub and a snapshot keep all goals waiting while they read everything: a second or more of some 10 MB. A machine whose data
// may become so large is a [txlog.Gradual] too, which reads itself in parts while goals go on. Each reading is of the moment
// when it began: it has a view, and goes over that, and a [txlog.Pile] hashes what it finds. The file reading.go has one of fifty lines. No other method changes, and no copy
// becomes another one by it.
//
// The first bytes of a snapshot say of which version it is, and so does the machine's name in the genesis, such as "kv/1". A new
// version that executes, applies or hashes otherwise is another machine: nodes of two versions in one log would spoil
// each other's copies. New goals that old ones refuse are such a difference too.
//
// The suite txlogtest.ExerciseState judges all of this, given some goals, txlogtest.ExerciseQueries the queries, and txlogtest.ExerciseLoop a
// machine whose goals may take any number of steps, given one that never ends. The directory examples/seats has a machine that was
// written from this text.
//
// Sources: document 003; requirements B13 to B15, V3 to V5, V7.
package kv
