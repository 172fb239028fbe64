package kv

import (
	"fmt"
	"testing"

	"github.com/conchhq/conch/txlog"
)

// BenchmarkQuery reads one key, and a list of a hundred.
func BenchmarkQuery(b *testing.B) {
	s := New()
	for i := range 100_000 {
		if err := s.Apply(txlog.Run(s, fmt.Appendf(nil, `{"op":"put","key":"allow/%014d","value":"%098d"}`, i*7919%100_000, i)).Diff); err != nil {
			b.Fatal(err)
		}
	}
	for _, query := range []string{`{"get":"allow/00000000004711"}`, `{"prefix":"allow/","after":"allow/00000000004711"}`} {
		b.Run(query[2:5], func(b *testing.B) {
			for b.Loop() {
				if _, err := txlog.Ask(s.View(), []byte(query)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
