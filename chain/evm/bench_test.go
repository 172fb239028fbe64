package evm_test

import (
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// BenchmarkBatch measures how many transactions the driver signs, and the node accepts and mines,
// in batches of 500. It is the ceiling for every sender.
//
//	go test ./chain/evm -run '^$' -bench Batch -benchtime 5000x
func BenchmarkBatch(b *testing.B) {
	for _, blocks := range []string{"on demand", "1s"} {
		b.Run(blocks, func(b *testing.B) {
			args := []string{"--pool", "100000"}
			if blocks != "on demand" {
				args = append(args, "--block-time", blocks)
			}
			n := startNode(b, args...)
			k := evm.NewKeystore(n.key)
			c := open(b, evm.Config{URL: n.HTTP, ChainID: n.ChainID, Signers: []evm.Signer{k}})
			drafts := make([]chain.Draft, b.N)
			for i := range drafts {
				drafts[i] = chain.Draft{Account: k.Account(), Index: uint64(i)}
			}
			begun := time.Now()
			attempts := prepared(b, c, drafts...)
			signing := time.Since(begun)
			b.ResetTimer()
			begun = time.Now()
			send(b, c, attempts, chain.Accepted)
			accepted := time.Since(begun)
			if blocks == "on demand" {
				n.mine()
			}
			for next := uint64(0); next < uint64(b.N); {
				var err error
				if next, err = c.Next(b.Context(), k.Account()); err != nil {
					b.Fatal(err)
				}
				if blocks == "on demand" && next < uint64(b.N) {
					n.mine()
				}
			}
			mined := time.Since(begun)
			b.StopTimer()
			rate := func(took time.Duration, what string) { b.ReportMetric(float64(b.N)/took.Seconds(), what+"/s") }
			rate(signing, "signed")
			rate(accepted, "accepted")
			rate(mined, "mined")
			b.ReportMetric(0, "ns/op")
		})
	}
}
