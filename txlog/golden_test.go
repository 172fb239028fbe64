package txlog

import (
	"encoding/hex"
	"flag"
	"path/filepath"
	"testing"

	"github.com/conchhq/conch/internal/storytest"
)

var update = flag.Bool("update", false, "write the files of testdata anew")

// What is stored, sent, hashed or signed never changes its bytes: logs last for years, and nodes of different releases have the
// same one. A diff of these files is another format, which needs another version.
func TestTheFormatNeverChanges(t *testing.T) {
	t.Parallel()
	c, all := sampleLog(t)
	g := sampleGenesis()
	begin := Genesis{Namespace: "fleet", Machine: "toy/1", Nonce: counting(7), LeaseMS: 3000, Retention: 10_000, Scrub: 1000, Members: []Member{member("eve", 15)}}
	child, err := c.Child(begin)
	if err != nil {
		t.Fatal(err)
	}
	head := sampleHead(t)
	golden := func(name string, raw []byte, hash Hash) {
		storytest.Golden(t, *update, filepath.Join("testdata", "golden", name+".hex"), hex.EncodeToString(raw)+"\n"+hash.String()+"\n")
	}
	for i, name := range []string{1: "goal", 2: "failed", 3: "effect", 4: "performed", 5: "members", 7: "scrub", 8: "of-term-2"} {
		if name != "" {
			golden("record-"+name, all[i].Raw(), all[i].Hash())
		}
	}
	golden("record-opening", all[0].Raw(), all[0].Hash())
	golden("genesis", g.Encode(), g.ID())
	golden("genesis-of-a-child", child.Genesis().Encode(), child.Genesis().ID())
	golden("head", head.Encode(), head.Hash)
	golden("head-signed", head.Signed(), Fingerprint(public("ann")))
	golden("snapshot", c.Snapshot(), c.Hash())
}
