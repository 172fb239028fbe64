// Package kvtest judges what users of a log with a store of keys and values were told: whether there is an order of all
// goals and fresh reads in which each has the answer that it got, and none comes before one that had ended when it began
// (linearizable). The search is a library's, and the rules of a key are written down here once more, so that a fault
// of package kv shows too.
//
//	h = append(h, kvtest.Operation{Client: 3, Do: do, Got: kvtest.Got{Result: result}, Call: began, Return: ended})
//	err := kvtest.Check(h, time.Minute)
//
// A goal whose end nobody has told may have been executed, later too, or not at all: its Return is Never.
package kvtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/anishathalye/porcupine"
)

// Do is what a client asks for: a goal of one operation, or a fresh read.
type Do struct {
	Op     string // put, delete, cas, add, or get for a read
	Key    string
	Value  string // of put and cas: JSON, in the one form of package kv
	Expect string // of cas; empty: the key must not be there
	By     int64  // of add
}

// Goal returns the goal. A get is none.
func (d Do) Goal() string {
	fields := map[string]any{"op": d.Op, "key": d.Key}
	switch d.Op {
	case "add":
		fields["by"] = d.By
	case "cas":
		fields["absent"] = true
		if d.Expect != "" {
			delete(fields, "absent")
			fields["expect"] = json.RawMessage(d.Expect)
		}
		fallthrough
	case "put":
		fields["value"] = json.RawMessage(d.Value)
	}
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err) // a value that is no JSON
	}
	return string(text)
}

// Query returns the query of a get.
func (d Do) Query() string { return `{"get":` + strconv.Quote(d.Key) + `}` }

// Got is what a client was told.
type Got struct {
	Result string // of the goal, or the answer to the query
	Fault  string // why the goal has failed
}

// Never is the Return of an operation whose end nobody has told.
const Never = math.MaxInt64

// Operation is one of a history. Times are of one clock, or numbers of events.
type Operation struct {
	Client       int
	Do           Do
	Got          Got
	Call, Return int64
}

// ErrOrder means that there is no order in which all operations have the answers that they got.
var ErrOrder = errors.New("there is no order of these operations in which each has the answer that it got")

// ErrSlow means that the search was not over in time: it has found nothing wrong so far.
var ErrSlow = errors.New("the search for an order was not over in time")

// Check judges a history. Each key is judged by itself. The error is ErrOrder, with the operations of one key, or ErrSlow.
func Check(history []Operation, within time.Duration) error {
	byKey := map[string][]porcupine.Operation{}
	var keys []string
	for _, o := range history {
		if byKey[o.Do.Key] == nil {
			keys = append(keys, o.Do.Key)
		}
		byKey[o.Do.Key] = append(byKey[o.Do.Key], porcupine.Operation{
			ClientId: o.Client, Input: o.Do, Output: output{o.Got, o.Return == Never}, Call: o.Call, Return: o.Return,
		})
	}
	for _, key := range keys {
		switch porcupine.CheckOperationsTimeout(model, byKey[key], within) {
		case porcupine.Illegal:
			return fmt.Errorf("%w:%s", ErrOrder, told(history, key))
		case porcupine.Unknown:
			return fmt.Errorf("%w: %d operations of %q", ErrSlow, len(byKey[key]), key)
		case porcupine.Ok:
		}
	}
	return nil
}

// told writes the operations of a key, one a line.
func told(history []Operation, key string) (text string) {
	for _, o := range history {
		if o.Do.Key != key {
			continue
		}
		until := "never"
		if o.Return != Never {
			until = strconv.FormatInt(o.Return, 10)
		}
		text += fmt.Sprintf("\n\tclient %d, %d to %s: %+v got %+v", o.Client, o.Call, until, o.Do, o.Got)
	}
	return text
}
