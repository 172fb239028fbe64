package kvtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// draw returns what a client might ask for.
func draw(dice *rand.Rand) Do {
	d := Do{Key: string(rune('a' + dice.IntN(3))), By: dice.Int64N(5) - 2}
	value := func() string { return []string{"1", "2", "7", `"x"`}[dice.IntN(4)] }
	switch d.Op = []string{"put", "delete", "cas", "add", "get", "get"}[dice.IntN(6)]; d.Op {
	case "put":
		d.Value = value()
	case "cas":
		d.Value = value()
		if dice.IntN(3) > 0 {
			d.Expect = value()
		}
	}
	return d
}

// run has eight clients use one store. Each operation takes effect at some time between its call and its return; now and then
// the answer is lost, and the effect too.
func run(seed uint64, n int) (h []Operation) {
	dice := rand.New(rand.NewPCG(seed, 0))
	s := kv.New()
	type pending struct {
		op Operation
		at int64
	}
	var all []pending
	free := make([]int64, 8)
	for i := range n {
		client := i % len(free)
		call := free[client] + dice.Int64N(20)
		at := call + dice.Int64N(50)
		end := at + dice.Int64N(50)
		free[client] = end + 1
		all = append(all, pending{Operation{Client: client, Do: draw(dice), Call: call, Return: end}, at*1000 + int64(i)})
	}
	for range all { // by the time of the effect
		first := -1
		for i, p := range all {
			if p.at >= 0 && (first < 0 || p.at < all[first].at) {
				first = i
			}
		}
		p := &all[first]
		p.at = -1
		lost := p.op.Do.Op != "get" && dice.IntN(20) == 0
		if lost {
			p.op.Return = Never
		}
		if !lost || dice.IntN(2) == 0 {
			got := do(s, p.op.Do)
			if !lost {
				p.op.Got = got
			}
		}
	}
	for _, p := range all {
		h = append(h, p.op)
	}
	return h
}

func do(s txlog.State, d Do) Got {
	if d.Op == "get" {
		answer, err := txlog.Ask(s.View(), []byte(d.Query()))
		if err != nil {
			panic(err)
		}
		return Got{Result: string(answer)}
	}
	o := txlog.Run(s, []byte(d.Goal()))
	if err := s.Apply(o.Diff); err != nil {
		panic(err)
	}
	return Got{Result: string(o.Result), Fault: o.Fault}
}

// Clients of one store see a linearizable one, whatever answers are lost; and the rules that are written down here are those of
// package kv.
func TestOneStoreIsLinearizable(t *testing.T) {
	t.Parallel()
	faults, unknown := 0, 0
	for seed := range uint64(20) {
		h := run(seed, 300)
		if err := Check(h, time.Minute); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, o := range h {
			if o.Got.Fault != "" {
				faults++
			}
			if o.Return == Never {
				unknown++
			}
		}
	}
	if faults < 100 || unknown < 100 {
		t.Errorf("%d operations have failed and %d are unknown: the histories prove little", faults, unknown)
	}
}

// Each way in which a log may betray its users is found.
func TestBetrayalsAreFound(t *testing.T) {
	t.Parallel()
	get := func(value string) Got {
		if value == "" {
			return Got{Result: `{"key":"a","found":false}`}
		}
		return Got{Result: `{"key":"a","value":` + value + `,"found":true}`}
	}
	ok, made := Got{Result: `{"created":false}`}, Got{Result: `{"created":true}`}
	put := func(v string, from, to int64, got Got) Operation {
		return Operation{Do: Do{Op: "put", Key: "a", Value: v}, Got: got, Call: from, Return: to}
	}
	read := func(v string, from, to int64) Operation {
		return Operation{Do: Do{Op: "get", Key: "a"}, Got: get(v), Call: from, Return: to}
	}
	add := func(sum string, from, to int64) Operation {
		return Operation{Do: Do{Op: "add", Key: "a", By: 1}, Got: Got{Result: `{"value":` + sum + `}`}, Call: from, Return: to}
	}
	cas := func(expect, v string, from, to int64) Operation {
		return Operation{Do: Do{Op: "cas", Key: "a", Expect: expect, Value: v}, Got: ok, Call: from, Return: to}
	}
	for name, c := range map[string]struct {
		history []Operation
		good    bool
	}{
		"in order":                  {[]Operation{put("1", 0, 1, made), read("1", 2, 3), put("2", 4, 5, ok), read("2", 6, 7)}, true},
		"an acknowledged goal lost": {[]Operation{put("1", 0, 1, made), read("", 2, 3)}, false},
		"a stale read":              {[]Operation{put("1", 0, 1, made), put("2", 2, 3, ok), read("1", 4, 5)}, false},
		"a read goes back":          {[]Operation{put("1", 0, 1, made), put("2", 2, 9, ok), read("2", 3, 4), read("1", 5, 6)}, false},
		"one or the other, during":  {[]Operation{put("1", 0, 1, made), put("2", 2, 9, ok), read("1", 3, 4), read("2", 5, 6)}, true},
		"a goal twice":              {[]Operation{add("1", 0, 1), add("3", 2, 3)}, false},
		"two take the same":         {[]Operation{put("1", 0, 1, made), cas("1", "2", 2, 9), cas("1", "3", 3, 9)}, false},
		"a failure that was none":   {[]Operation{put("1", 0, 1, made), {Do: Do{Op: "cas", Key: "a", Expect: "2", Value: "3"}, Got: ok, Call: 2, Return: 3}}, false},
		"told as failed, and done": {[]Operation{
			put("1", 0, 1, made), {Do: Do{Op: "cas", Key: "a", Expect: "1", Value: "2"}, Got: Got{Fault: "conflict: "}, Call: 2, Return: 3}, read("2", 4, 5),
		}, false},
		"nobody knows, and done":     {[]Operation{put("1", 0, 1, made), put("2", 2, Never, Got{}), read("1", 3, 4), read("2", 5, 6)}, true},
		"nobody knows, and not done": {[]Operation{put("1", 0, 1, made), put("2", 2, Never, Got{}), read("1", 3, 4), read("1", 5, 6)}, true},
		"nobody knows, and undone":   {[]Operation{put("1", 0, 1, made), put("2", 2, Never, Got{}), read("2", 3, 4), read("1", 5, 6)}, false},
		"before it was asked":        {[]Operation{read("1", 0, 1), put("1", 2, 3, made)}, false},
		"what is no answer":          {[]Operation{{Do: Do{Op: "get", Key: "a"}, Got: Got{Result: "{"}, Call: 0, Return: 1}}, false},
	} {
		err := Check(c.history, time.Minute)
		if c.good && err != nil || !c.good && !errors.Is(err, ErrOrder) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// One answer of another run, put into a history, is found nearly always.
func TestChangedAnswersAreFound(t *testing.T) {
	t.Parallel()
	found, tries := 0, 0
	for seed := range uint64(10) {
		h := run(seed, 120)
		for i := range h {
			if h[i].Do.Op != "add" || h[i].Return == Never || h[i].Got.Fault != "" {
				continue
			}
			was := h[i].Got
			h[i].Got.Result = fmt.Sprintf(`{"value":%d}`, 100+i)
			tries++
			if errors.Is(Check(h, time.Minute), ErrOrder) {
				found++
			}
			h[i].Got = was
		}
	}
	if tries < 50 || found < tries {
		t.Errorf("%d of %d are found", found, tries)
	}
}
