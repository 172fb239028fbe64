package kv

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"testing"

	"github.com/conchhq/conch/txlog"
)

// Whatever is a goal: it changes nothing by itself, two stores come out alike, and a result is JSON.
func FuzzGoal(f *testing.F) {
	for _, goal := range []string{
		`{"op":"put","key":"a","value":{"b":[1.50,null,"x"]}}`, `{"op":"delete","key":"a"}`, `{"op":"cas","key":"a","expect":1,"base64":"AA=="}`,
		`{"op":"add","key":"n","by":-7}`, `{"ops":[{"op":"check","key":"a","absent":true},{"op":"put","key":"b","value":1e-3}]}`,
	} {
		f.Add([]byte(goal))
	}
	f.Fuzz(func(t *testing.T, goal []byte) {
		s, other := New(), New()
		do(t, s, `{"ops":[{"op":"put","key":"a","value":1},{"op":"add","key":"n"}]}`)
		if err := other.Restore(s.Snapshot()); err != nil {
			t.Fatal(err)
		}
		o := do(t, s, string(goal))
		if o.Fault == "" && !json.Valid(o.Result) {
			t.Errorf("the result is %q", o.Result)
		}
		if err := other.Apply(o.Diff); err != nil || other.Hash() != s.Hash() || !bytes.Equal(other.Snapshot(), s.Snapshot()) {
			t.Errorf("the stores differ: %v", err)
		}
		if answer, err := txlog.Ask(s.View(), []byte(`{"prefix":""}`)); err != nil || !json.Valid(answer) {
			t.Errorf("the store is %q, %v", answer, err)
		}
	})
}

// An object's fields are those that encoding/json finds, each as it stands there.
func FuzzObject(f *testing.F) {
	for _, raw := range []string{` { "a" : "b\\\"," , "c\u0064":[{"}":"]"},-1.5e3 , true] ,"e": { } } `, `{}`, `{"a":1,"a":2}`, `[{}]`, `{"a":}`, `{"\ud800":null}`} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := object(raw)
		var want map[string]json.RawMessage
		if json.Unmarshal(raw, &want) != nil || want == nil {
			if err == nil {
				t.Fatalf("%q has fields %q", raw, got)
			}
			return
		}
		if err != nil {
			return // a field is there twice, or there are too many
		}
		found := map[string]json.RawMessage{}
		for _, f := range got {
			found[f.name] = f.raw
		}
		if !maps.EqualFunc(found, want, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Errorf("%q has fields %q, and should have %q", raw, got, want)
		}
	})
}

// A value's one form is its own one form, and the same value.
func FuzzValue(f *testing.F) {
	for _, value := range []string{`1.50e+3`, `{"b":[-0.0e5,10],"a":"\u2028<\ud800"}`, `0.00000000000001`} {
		f.Add([]byte(value))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		v, err := jsonValue(raw)
		if err != nil {
			return
		}
		if again, err := jsonValue([]byte(v[1:])); err != nil || again != v {
			t.Errorf("%q becomes %q, and that %q, %v", raw, v, again, err)
		}
		var before, after any
		if json.Unmarshal(raw, &before) != nil || json.Unmarshal([]byte(v[1:]), &after) != nil {
			return // a number that float64 does not hold
		}
		if !reflect.DeepEqual(before, after) {
			t.Errorf("%q becomes %q", raw, v)
		}
	})
}

// Bytes that are taken for a diff, a snapshot or a query never panic, and what is restored has one form.
func FuzzBytes(f *testing.F) {
	s := New()
	put := txlog.Run(s, []byte(`{"op":"put","key":"a","value":1}`)).Diff
	if err := s.Apply(put); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{}, put)
	f.Add(s.Snapshot(), txlog.Run(s, []byte(`{"op":"delete","key":"a"}`)).Diff)
	f.Fuzz(func(t *testing.T, snapshot, diff []byte) {
		s := New()
		if s.Restore(snapshot) == nil && !bytes.Equal(s.Snapshot(), snapshot) {
			t.Errorf("%q is written as %q", snapshot, s.Snapshot())
		}
		before := s.Hash()
		if err := s.Apply(diff); (err == nil && len(diff) > 0) == (s.Hash() == before) {
			t.Errorf("a diff %q: %v", diff, err)
		}
		fresh := New()
		if err := fresh.Restore(s.Snapshot()); err == nil && fresh.Hash() != s.Hash() {
			t.Error("the hash that is kept is not the one of the content")
		}
		_, _ = txlog.Ask(s.View(), diff)
		_, _ = txlog.Ask(s.View(), snapshot)
	})
}

// What is taken for a recovery file has one form: the copy with which a log goes on as another one.
func FuzzRecovery(f *testing.F) {
	old := txlog.NewCopy(txlog.Genesis{Namespace: "n", Machine: "kv/1", Members: []txlog.Member{{Name: "a", Store: 1}}}.With(), New)
	for n := range 3 {
		goal := fmt.Appendf(nil, `{"op":"put","key":"k%d","value":[%d]}`, n, n)
		o := old.Execute(goal)
		if _, err := old.Next(txlog.Entry{Term: 1, Leader: "a", Kind: txlog.Executed, GoalID: fmt.Sprint(n), Goal: goal, Result: o.Result, Diff: o.Diff}); err != nil {
			f.Fatal(err)
		}
	}
	child, err := old.Child(old.Genesis())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(child.Snapshot())
	f.Add(old.Snapshot())
	f.Fuzz(func(t *testing.T, file []byte) {
		if c, err := txlog.Restore(file, New); err == nil && !bytes.Equal(c.Snapshot(), file) {
			t.Errorf("%q is written as %q", file, c.Snapshot())
		}
	})
}
