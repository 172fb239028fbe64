package kv_test

import (
	"testing"

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
