package roles

import (
	"context"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

func TestMain(m *testing.M) {
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error { return pgmint.Tables.Up(ctx, conn, nil) })
	pgtest.Main(m)
}

// F11: the node that leads a role of compaction deletes old rows of the history, in more than one transaction if they are many.
func TestCompaction(t *testing.T) {
	t.Parallel()
	base := pgtest.New(t)
	conn := base.Connect(t)
	pgtest.Exec(t, conn, `INSERT INTO conch.leadership_history (at, scope, epoch, holder, event)
		SELECT now() - make_interval(days => d), 's', 1, 'x', 'acquired' FROM generate_series(1, 1500) AS n, LATERAL (SELECT CASE WHEN n = 1500 THEN 1 ELSE 100 END) AS r(d)`)
	cfg, err := configtest.Load(t, "[node]\ninstance_id = \"n1\"\nlisten = \"off\"\n[database]\nurl = \""+base.URL+"\"\n[[roles]]\nname = \"compactor\"\nbuiltin = \"compaction\"\n",
		config.Source{Sections: []func() config.Section{Kind().Section}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	log := new(nodetest.Log)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- node.Run(ctx, node.Options{Config: cfg, Kinds: []node.Kind{Kind()}, Log: slog.New(slog.NewTextHandler(log, nil))})
	}()
	defer func() {
		if t.Failed() {
			t.Log(log.Lines())
		}
	}()
	pgtest.Eventually(t, nodetest.Patience, "old rows are gone", func() bool {
		var left int
		return conn.QueryRow(t.Context(), `SELECT count(*) FROM conch.leadership_history WHERE scope = 's'`).Scan(&left) == nil && left == 1
	})
	cancel()
	nodetest.Ends(t, ended)
}
