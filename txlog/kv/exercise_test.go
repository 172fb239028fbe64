package kv_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/txlogtest"
)

// The store keeps what a log rests on (B14, B15, V3, V4, V5, V7).
func TestExercise(t *testing.T) {
	t.Parallel()
	txlogtest.ExerciseState(
		t, kv.New,
		`{"op":"put","key":"flags/dark","value":true}`, `{"op":"put","key":"flags/light","value":{"b":1,"a":[1.50,null]}}`,
		`{"op":"put","key":"flags/dark","value":true}`, `{"op":"add","key":"n","by":41}`, `{"op":"add","key":"n"}`,
		`{"op":"cas","key":"flags/dark","expect":true,"value":false}`, `{"op":"cas","key":"flags/dark","expect":true,"value":1}`,
		`{"ops":[{"op":"delete","key":"flags/dark"},{"op":"put","key":"é","base64":"AAEC"},{"op":"check","key":"n","expect":42},{"op":"put","key":"zz","value":"x"}]}`,
		`{"ops":[{"op":"put","key":"no","value":1},{"op":"check","key":"n","expect":7}]}`, `{"op":"delete","key":"é"}`, `{"op":"delete","key":"nothing"}`,
		`{"op":"delete","key":"n"}`, `{"op":"delete","key":"zz"}`, `{"op":"delete","key":"flags/light"}`, `{"op":"put","key":"flags/dark","value":true}`,
	)
}

// Queries have a budget too: more than is looked at once is refused.
func TestQueriesHaveABudget(t *testing.T) {
	t.Parallel()
	var goals []string
	for i := range 2 * kv.MostListed {
		goals = append(goals, fmt.Sprintf(`{"op":"put","key":"k/%06d","value":%q}`, i, strings.Repeat("x", 200)))
	}
	list := fmt.Sprintf(`{"prefix":"k/","limit":%d}`, kv.MostListed)
	txlogtest.ExerciseQueries(t, kv.New, goals, `{"get":"k/000007"}`, `{"get":"no"}`, `{"count":"k/"}`, `{"count":""}`, `{"prefix":"","limit":2}`, list)
	s := kv.New()
	for _, g := range goals {
		if err := s.Apply(txlog.Run(s, []byte(g)).Diff); err != nil {
			t.Fatal(err)
		}
	}
	for query, least := range map[string]int{list: 3 * kv.MostListed, `{"count":"k/"}`: len(`{"count":"k/"}`) + 2} {
		if _, err := txlog.AskWithin(s.View(), []byte(query), least-1); !errors.Is(err, txlog.ErrBudget) {
			t.Errorf("%s takes fewer than %d steps: %v", query, least, err)
		}
	}
}
