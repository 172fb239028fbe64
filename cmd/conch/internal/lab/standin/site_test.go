package standin_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/standin"
)

// A thousand users, a peer that answers after 5 ms: with a profile, where the node spends its time.
func BenchmarkPayments(b *testing.B) {
	for name, s := range schemes {
		for _, shared := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/shared=%v", name, shared), func(b *testing.B) {
				ctx, stop := context.WithTimeout(b.Context(), time.Minute)
				defer stop()
				p, err := standin.Pair(ctx, s, 5*time.Millisecond, standin.Purses(1000, shared), nil)
				if err != nil {
					b.Fatal(err)
				}
				defer p.Close()
				done, took := 0, time.Duration(0)
				for i := 0; b.Loop(); i++ {
					d, t, err := p.Run(ctx, fmt.Sprint("round ", i), time.Second)
					if err != nil {
						b.Fatal(err)
					}
					done, took = done+d, took+t
				}
				b.ReportMetric(float64(done)/took.Seconds(), "tx/s")
			})
		}
	}
}
