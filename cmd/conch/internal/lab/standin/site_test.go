package standin_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/standin"
)

// Each scene ends as it should, on a small scale, and in virtual time: what it measures is nobody's business here, and a busy
// machine makes it neither late nor short of a payment.
func TestScenes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, scenes)
}

func scenes(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for name, s := range schemes {
		for _, shared := range []bool{false, true} {
			p, err := standin.Pair(ctx, s, time.Millisecond, standin.Purses(10, shared), nil)
			if err != nil {
				t.Fatal(err)
			}
			if done, _, err := p.Run(ctx, "round", 10*time.Millisecond); err != nil || done < 10 {
				t.Errorf("%s: %d payments and the error %v, want one of each user at least", name, done, err)
			}
			p.Close()
		}
	}
	for _, d := range []standin.Death{standin.BeforeAssembly, standin.AfterAssembly} {
		done, _, err := standin.Live(ctx, standin.Ed25519(), standin.Purses(10, true), standin.Purses(2, true), d, 10*time.Millisecond)
		if err != nil || done < 10 {
			t.Errorf("beside a death, %d: %d payments and the error %v, want one of each user at least", d, done, err)
		}
	}
	if s, err := standin.Struck(ctx, standin.Ed25519(), 10); err != nil || s.Took <= 0 {
		t.Errorf("a coordinator's death: %+v, %v", s, err)
	}
	if r, err := standin.Idle(ctx, standin.Ed25519(), 100, 2); err != nil || r.Messages > 0 || r.Others == 0 {
		t.Errorf("contracts at rest: %+v, %v, want messages about the busy ones alone", r, err)
	}
}

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
