package committee

import (
	"os"
	"strconv"
	"testing"
)

func TestMany(t *testing.T) {
	from, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	n, _ := strconv.ParseUint(os.Getenv("N"), 10, 64)
	for seed := from; seed < from+max(n, 1); seed++ {
		cfg := Config{Seed: seed, Scene: os.Getenv("SCENE"), Calm: os.Getenv("CALM") != "", Break: os.Getenv("BREAK")}
		if os.Getenv("TRACE") != "" {
			cfg.Trace = os.Stderr
		}
		r := Run(cfg)
		if os.Getenv("STATS") != "" {
			t.Log(r.Stats, r.Steps)
		}
		for _, v := range r.Violations {
			t.Errorf("%d %s: %s (step %d)", seed, v.Invariant, v.Detail, v.Step)
		}
	}
}
