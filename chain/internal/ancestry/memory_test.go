package ancestry_test

import (
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/internal/ancestry"
)

func TestMemory(t *testing.T) {
	tr, m := tree{}, ancestry.NewMemory(3)
	for _, way := range []string{"0", "0a", "0ab", "0abc"} {
		m.Add(tr.at(way))
	}
	if _, known := m.Get("0"); known {
		t.Error("the oldest of four blocks is in a memory of three, want it dropped")
	}
	if got := m.Thread(tr.at("0abcd")); len(got) != 3 || got[0].Hash != "0ab" || got[2].Hash != "0abcd" {
		t.Errorf("got thread %v, want 0ab, 0abc, 0abcd", got)
	}
	if got := m.Thread(chain.Block{Number: 3, Hash: "0abc"}); len(got) != 3 || got[2].Parent != "0ab" {
		t.Errorf("got thread %v of a block whose parent the caller does not know, want 0a, 0ab, 0abc", got)
	}
	if got := m.Thread(chain.Block{}); got != nil {
		t.Errorf("the zero block has thread %v, want none", got)
	}
}
