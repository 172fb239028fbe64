package logs

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum"
)

// A head may contradict what is applied when no head that covers that is kept any more: then one head is told, and not a second one of nobody.
func TestAForkOfOneHead(t *testing.T) {
	t.Parallel()
	said := new(nodetest.Log)
	r := &part{log: slog.New(slog.NewTextHandler(said, nil))}
	one, other := txlog.Head{Member: "n1"}, txlog.Head{Member: "n2"}
	new(teller).tell(r, quorum.Forked{B: other, Index: 7})
	new(teller).tell(r, quorum.Forked{A: one, B: other, Index: 8})
	lines := said.Lines()
	if len(lines) != 3 || !strings.Contains(lines[0], "index=7 member=n2") || strings.Contains(lines[0], "one=") || !strings.Contains(lines[1], "one=n1") {
		t.Errorf("the log says %q", lines)
	}
}
